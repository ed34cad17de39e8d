"""Mixed precision trains as f32 does; a step whose fp16 gradients overflow changes nothing but the scale."""

import json
import math
import unittest

from stepc_test import StepcTest, TINY_RUN

DATA = [*TINY_RUN, "--dim", "batch=4", "--data", "text.txt", "--threads", "1"]
TRAIN = [*DATA, "--optimizer", "adamw:lr=1e-3"]
INTERPRETER = [*TRAIN, "--target", "interpreter"]


class Precision(StepcTest):
    def setUp(self):
        super().setUp()
        (self.folder / "text.txt").write_bytes(b"one fish two fish red fish blue fish, " * 40)

    def report(self, *arguments):
        return json.loads(self.succeeds(*arguments, "--json", "-"))

    def test_200_steps_within_1_percent(self):
        self.within_1_percent("200", "bf16")
        self.within_1_percent("200", "fp16")

    def test_clipped_and_accumulated_steps_within_1_percent(self):
        extra = ["--fuse", "off", "--clip-norm", "0.5", "--accumulate", "2"]
        self.within_1_percent("60", "bf16", *extra)
        # Micro-steps sum over tokens, so that the standard scale overflows at first: skipped steps are other steps.
        self.within_1_percent("60", "fp16", *extra, low=["--loss-scale", "init=512"])

    def within_1_percent(self, steps, precision, *extra, low=()):
        expected = self.losses(*TRAIN, "--steps", steps, *extra)
        self.assertLess(expected[-1], expected[0] / 2)
        losses = self.losses(*TRAIN, "--steps", steps, "--precision", precision, *extra, *low)
        # Late losses are small; a percent of a tenth of the first is the scale that training moves on.
        worst = max(abs(a - e) / max(e, 0.1 * expected[0]) for a, e in zip(losses, expected))
        self.assertLess(worst, 0.01)

    def test_the_interpreter_agrees(self):
        for precision, tolerance in [("bf16", 1e-2), ("fp16", 2e-3)]:
            cpu = self.losses(*TRAIN, "--steps", "3", "--precision", precision)
            interpreter = self.losses(*INTERPRETER, "--steps", "3", "--precision", precision)
            self.assertLess(max(abs(a - e) for a, e in zip(cpu, interpreter)), tolerance)

    def test_an_overflow_skips_the_step_and_halves_the_scale(self):
        for extra in [[], ["--clip-norm", "1"], ["--accumulate", "2"], ["--optimizer", "sgd:lr=0.05,momentum=0.9"]]:
            with self.subTest(extra=extra):
                report = self.report(*DATA, *extra, "--precision", "fp16", "--loss-scale", "init=1e12", "--steps", "40")
                scales, skipped = report["loss_scales"], report["skipped_steps"]
                self.assertEqual(skipped[:4], [1, 2, 3, 4])
                self.assertLess(len(skipped), 40)
                for step, (scale, following) in enumerate(zip(scales, scales[1:]), start=1):
                    self.assertEqual(following, scale / 2 if step in skipped else scale)
                self.assertTrue(all(math.isfinite(loss) for loss in report["losses"]))
                self.assertLess(report["losses"][-1], report["losses"][0])

    def test_a_skipped_step_leaves_weights_and_moments(self):
        run = [*TRAIN, "--precision", "fp16", "--loss-scale", "init=1e30", "-q"]
        self.succeeds(*run, "--steps", "0", "--warmup", "1", "--dump-weights", "one.npz", "--save", "one.safetensors")
        self.succeeds(*run, "--steps", "0", "--warmup", "3", "--dump-weights", "three.npz", "--save",
                      "three.safetensors")
        self.assertEqual((self.folder / "one.npz").read_bytes(), (self.folder / "three.npz").read_bytes())
        one, three = (tensors((self.folder / name).read_bytes()) for name in ["one.safetensors", "three.safetensors"])
        changed = {name for name in one if one[name] != three[name]}
        self.assertEqual(changed, {"state/loss_scale"})

    def test_the_scale_grows(self):
        report = self.report(*TRAIN, "--precision", "fp16", "--loss-scale", "init=8,growth=4,interval=3", "--steps", "8")
        self.assertEqual(report["loss_scales"], [8, 8, 8, 32, 32, 32, 128, 128])

    def test_a_resumed_run_is_the_run(self):
        run = [*TRAIN, "--precision", "bf16", "-q"]
        self.succeeds(*run, "--steps", "6", "--dump-weights", "whole.npz")
        self.succeeds(*run, "--steps", "3", "--save", "half.safetensors")
        self.succeeds(*run, "--steps", "3", "--resume", "half.safetensors", "--dump-weights", "resumed.npz")
        self.assertEqual((self.folder / "whole.npz").read_bytes(), (self.folder / "resumed.npz").read_bytes())

    def test_a_compiled_folder_runs_in_its_precision(self):
        compile = ["compile", *TRAIN[1:TRAIN.index("--data")], "--optimizer", "adamw:lr=1e-3", "--threads", "1",
                   "--weights", "random:0", "--precision", "fp16", "-o", "step", "-q"]
        self.succeeds(*compile)
        compiled = self.report("run", "step", "--data", "text.txt", "--threads", "1", "--steps", "3")
        direct = self.report(*TRAIN, "--precision", "fp16", "--steps", "3")
        self.assertEqual(compiled["losses"], direct["losses"])
        self.assertEqual(compiled["options"]["precision"], "fp16")

    def test_the_report_says_what_is_stored_and_computed(self):
        report = self.report(*TRAIN, "--precision", "bf16", "--steps", "1")["precision"]
        self.assertEqual(report["name"], "bf16")
        stored = {(row["class"], row["dtype"]): row["bytes"] for row in report["stored"]}
        self.assertGreater(stored["weights", "bfloat16"], 0)
        self.assertGreater(stored["activations", "bfloat16"], 0)
        self.assertNotIn(("optimizer", "bfloat16"), stored)
        computed = {(row["op"], row["operands"], row["sums"]) for row in report["computed"]}
        self.assertIn(("contraction", "bfloat16", "float32"), computed)
        self.assertNotIn(("contraction", "float32", "float32"), computed)
        text = self.succeeds(*TRAIN, "--precision", "bf16", "--steps", "1")
        self.assertRegex(text, r"precision bf16: products .* FLOPs of bfloat16 summed in float32")


def tensors(content):
    """{name: bytes} of a safetensors file."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + size])
    data = content[8 + size:]
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items() if name != "__metadata__"}


if __name__ == "__main__":
    unittest.main()
