"""What the program writes is whole, comes back as it was, and is refused where it was damaged."""

import json
import os
import pathlib
import shutil
import unittest

from stepc_test import PLAN, RUN, TINY, TINY_RUN, StepcTest


class FilesTest(StepcTest):
    def test_resuming_continues_bit_for_bit(self):
        plain = [*RUN, "-q"]
        self.stepc(*plain, "--steps", "4", "--dump-weights", "whole.npz")
        self.stepc(*plain, "--steps", "2", "--save", "half.safetensors")
        self.succeeds(*plain, "--steps", "2", "--resume", "half.safetensors", "--dump-weights", "resumed.npz")
        self.assertEqual((self.folder / "whole.npz").read_bytes(), (self.folder / "resumed.npz").read_bytes())

    def test_a_saved_model_goes_on_where_it_was(self):
        data = ["--data", "good.npz", "--target", "interpreter", "--optimizer", "sgd:lr=0.1"]
        for tie in ([], ["--tied"]):
            expected = self.losses(*TINY_RUN, *tie, *data, "--steps", "3")
            self.succeeds(*TINY_RUN, *tie, *data, "-q", "--steps", "2", "--save", "a.onnx")
            self.assertEqual(self.losses("run", "a.onnx", *data), expected[2:])
            # From an ONNX file the same way; nothing but weights changes, so a step of size 0 changes no byte.
            self.succeeds("run", "a.onnx", *data, "-q", "--lr", "0", "--save", "b.onnx")
            self.assertEqual((self.folder / "a.onnx").read_bytes(), (self.folder / "b.onnx").read_bytes())

    def test_a_tie_that_the_exporter_broke_is_saved_as_one_weight(self):
        models = pathlib.Path(__file__).parent.parent / "data/models"
        common = ["--data", str(models / "gpt2_golden.npz"), "--target", "interpreter", "--optimizer", "sgd:lr=0.1"]
        model = str(models / "gpt2_legacy.onnx")
        self.assertIn("tied again", self.succeeds("run", model, *common))
        expected = self.losses("run", model, *common, "--steps", "2")
        self.succeeds("run", model, *common, "-q", "--save", "a.onnx")
        self.assertIn("tied again", self.succeeds("run", "a.onnx", *common))
        self.assertEqual(self.losses("run", "a.onnx", *common), expected[1:])

    def test_dumps_parse_back_to_themselves(self):
        self.succeeds(*PLAN, "--dim", "batch=2", "-q", "--accumulate", "2", "--clip-norm", "1", "--dump-after", "all=d")
        dumps = sorted((self.folder / "d").glob("*.ir"))
        self.assertGreater(len(dumps), 15)
        for dump in dumps:
            self.assertEqual(self.succeeds("opt", str(dump), "--passes", ""), dump.read_text(), dump.name)

    def test_a_compiled_folder_is_whole_or_refused(self):
        compile = ["compile", *TINY, "--dim", "batch=2", "--target", "interpreter", "--optimizer", "sgd", "-q", "-o",
                   "step"]
        step = self.folder / "step"
        self.succeeds(*compile, "--weights", "random")
        run = ["run", "step", "--target", "interpreter", "-q"]
        report = json.loads(self.succeeds(*run, "--json", "-"))
        self.assertEqual(report["options"]["optimizer"]["name"], "sgd")
        self.refused(2, [([*run, "--loss", "mse"], "--loss"), ([*run, "--layers", "2"], "--layers")])
        self.refused(1, [(["inspect", "step"], "is a folder"), (["run", "."], "report.json")])
        for name in ("graph.ir", "report.json", "weights.safetensors"):
            content = (step / name).read_bytes()
            (step / name).write_bytes(content[:100])
            self.refused(1, [(run, name)])
            (step / name).write_bytes(content)
        shutil.rmtree(step / "graph.ir.constants")
        self.refused(1, [(run, "graph.ir.constants")])
        self.succeeds(*compile)
        self.refused(1, [(run, "shapes only")])  # no weights of the older compile are left
        self.assertEqual(sorted(path.name for path in step.iterdir()),
                         ["graph.ir", "graph.ir.constants", "plan.json", "report.json"])

    def test_what_fails_leaves_no_folder(self):
        self.refused(1, [([*PLAN, "-o", "step"], "--dim batch=N")])
        self.assertFalse((self.folder / "step").exists())

    def test_a_damaged_cache_is_built_again(self):
        cache = self.folder / "cache"
        run = [*TINY_RUN, "--dim", "batch=2", "--data", "good.npz"]
        expected = self.losses(*run, STEPC_CACHE_DIR=str(cache))
        entries = sorted(cache.glob("*.so"))
        self.assertGreater(len(entries), 1)
        for damage in (lambda entry: os.truncate(entry, 1000), lambda entry: entry.write_bytes(b"garbage"),
                       lambda entry: shutil.copy(entries[1], entry)):
            damage(entries[0])
            self.assertEqual(self.losses(*run, STEPC_CACHE_DIR=str(cache)), expected)
        entries[0].unlink()
        entries[0].mkdir()
        self.refused(1, [(run, "remove it")], STEPC_CACHE_DIR=str(cache))


if __name__ == "__main__":
    unittest.main()
