"""Dropout that is asked for: masks come from key and offset, so the CPU at every level draws those of the interpreter, and a
run can be repeated."""

import pathlib
import unittest

from stepc_test import StepcTest

MODELS = pathlib.Path("tests/data/models").resolve()
RUN = ["run", str(MODELS / "gpt2_dynamo_train.onnx"), "--data", str(MODELS / "gpt2_golden.npz"), "--steps", "3"]


class DropoutTest(StepcTest):
    def drawn(self, *arguments):
        return self.losses(*RUN, "--dropout", "on", *arguments, STEPC_CACHE_DIR=str(self.folder / "cache"))

    def test_the_cpu_draws_what_the_interpreter_draws(self):
        expected = self.drawn("--target", "interpreter")
        for level in ("off", "pointwise", "full"):
            with self.subTest(level):
                losses = self.drawn("--fuse", level)
                for loss, other in zip(losses, expected, strict=True):
                    self.assertAlmostEqual(loss, other, delta=1e-5 * other)

    def test_a_run_is_repeated_by_its_seed(self):
        interpreter = ["--target", "interpreter"]
        losses = self.drawn(*interpreter)
        self.assertEqual(self.drawn(*interpreter), losses)
        self.assertNotEqual(self.drawn(*interpreter, "--seed", "1")[0], losses[0])
        self.assertNotEqual(self.losses(*RUN, *interpreter)[0], losses[0])


if __name__ == "__main__":
    unittest.main()
