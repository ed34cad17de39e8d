"""Bad command lines, files and data end with one clear line and the documented exit status."""

import json
import os
import pathlib
import subprocess
import unittest

from stepc_test import DATA, FILES, PLAN, RUN, STEPC, TINY, TINY_RUN, StepcTest

WRONG_USAGE = [
    (["bogus"], "unknown command 'bogus'"),
    ([], "name a command"),
    (["run"], "name a model"),
    (["opt"], "name a file"),
    (["sweep", "x"], "not available yet"),
    ([*RUN, "--bogus"], "--bogus; stepc run --help"),
    ([*RUN, "--memory-budget", "80%"], "not available yet"),
    ([*RUN, "--precision", "half"], "the choices are fp32, bf16, fp16, tf32"),
    ([*RUN, "--loss-scale", "speed=1"], "no key 'speed=1'"),
    ([*RUN, "--loss-scale", "init=0"], "init=0 is out of range"),
    ([*RUN, "--loss-scale", "interval=1.5"], "interval=1.5 is no whole number"),
    (["run", "--family", "llama", "--target", "cuda:sm_91"], "sm_90"),
    ([*RUN, "--steps", "1", "--steps", "2"], "--steps is given 2 times"),
    ([*RUN, "--loss", "sum", "--loss", "mse"], "--loss is given 2 times"),
    ([*RUN, "--steps"], "--steps needs a value"),
    ([*RUN, "--lr", "nan"], "expected a number from 0"),
    ([*RUN, "--seed", "-1"], "expected a whole number from 0"),
    ([*RUN, "--steps", "-1"], "expected a whole number from 0"),
    ([*RUN, "--steps", "99999999999999999999"], "expected a whole number from 0"),
    ([*RUN, "--steps", "1e3"], "expected a whole number from 0"),
    ([*RUN, "--clip-norm", "0"], "expected a number above 0"),
    ([*RUN, "--optimizer", "sgd:speed=1"], "no key 'speed'"),
    ([*PLAN, "--dim", "batch=1", "--dump-onnx"], "say where with --dump-after"),
    ([*PLAN, "--dim", "batch=1", "--fuse-edges", ""], "--fuse-edges needs a value that is not empty"),
    ([*RUN, "--data", ""], "--data needs a value that is not empty"),
    ([*PLAN, "--dim", "batch=1", "--skip", "cse", "--skip", ""], "--skip needs a value that is not empty"),
    (["a\nb\x1b"], r"unknown command 'a\x0ab\x1b'"),
    ([*PLAN, "--dim", "batch=-3"], "cannot be negative"),
    ([*PLAN, "--dim", "batch=1e3"], "expected NAME=N"),
    ([*PLAN, "--dim", "batch=99999999999999999999"], "does not fit 64 bits"),
    ([*PLAN, "--dim", "batch=1", "--dim", "batch=2"], "already bound to 1"),
]

BAD_INPUT = [
    (["inspect", "absent.onnx"], "No such file"),
    (["inspect", "absent"], "no file or zoo model"),
    (["inspect", "ab\nsent"], r"ab\x0asent"),
    (["inspect", "llama"], "--family llama"),
    (["inspect", "empty.onnx"], "empty"),
    (["inspect", "garbage.onnx"], "not an ONNX model"),
    (["inspect", "."], "is a folder"),
    (["inspect", "/dev/zero"], "not a regular file"),
    (["opt", "garbage.ir", "--passes=dce"], "garbage.ir:1:1"),
    (PLAN, "--dim batch=N"),
    ([*RUN, "--precision", "tf32"], "on target interpreter use fp32, bf16 or fp16"),
    ([*TINY_RUN, "--dim", "batch=1", "--precision", "tf32"], "on target cpu use fp32, bf16 or fp16"),
    (["compile", *TINY, "--dim", "batch=1", "--precision", "tf32"], "on target cpu use fp32, bf16 or fp16"),
    ([*PLAN, "--dim", "batch=9223372036854775807"], "does not fit 64 bits"),
    ([*PLAN, "--dim", "rows=2", "--dim", "batch=1"], "no input has a dimension 'rows'"),
    (["inspect", "--family", "llama", "--layers", "0"], "expected 1 to"),
    (["inspect", "--family", "llama", "--heads", "5"], "does not divide"),
    ([*RUN, "--data", "absent.npz"], "No such file"),
    ([*RUN, "--data", "garbage.npz"], "not a readable .npz"),
    ([*RUN, "--data", "odd.u16"], "no whole number of u16 tokens"),
    ([*RUN, "--data", "short.u8"], "one window needs"),
    ([*RUN, "--data", "high.u16"], "past the vocabulary of 256"),
    ([*RUN, "--resume", "garbage.safetensors"], "garbage.safetensors"),
    ([*RUN, "--steps", "0"], "nothing to run"),
    ([*RUN, "--save", "weights.bin"], ".safetensors or .onnx"),
    ([*RUN, "--save", "absent/x.safetensors"], "No such file"),
    ([*RUN, "--json", "."], "Is a directory"),
    ([*RUN, "--json", "/dev/full"], "No space left"),
    ([*RUN, "--labels", "bogus"], "no input of that name; there are input_ids i64[2,16]"),
    ([*RUN, "--logits", "bogus"], "there are logits f32[2,16,256]"),
    ([*RUN, "--loss", "mean", "--labels", "input_ids"], "takes no labels"),
    ([*RUN, "--loss", "mean", "--shift"], "--shift has no effect"),
    ([*TINY_RUN, "--dim", "batch=0"], "a mean of nothing"),
    ([*TINY_RUN, "--dim", "batch=1000000000"], "this machine has"),
    ([*TINY_RUN, "--dim", "batch=1000000000", "--target", "interpreter"], "this machine has"),
    ([*TINY_RUN, "--dim", "batch=100000000000000"], "does not fit 64 bits"),
    (["run", "llama-70b", "--dim", "batch=4096"], "but this machine has"),
    (["check", *TINY, "--dim", "batch=1000000000"], "but this machine has"),
    ([*RUN, "--skip", "autodiff"], "means nothing without"),
    ([*RUN, "--stop-after", "autodiff"], "not complete"),
]

BAD_DATA = [
    ("high_id.npz", "'input_ids' has 256 at [0, 0], past the 256 rows"),
    ("high_label.npz", "'label' has 256 at [0, 0]; labels are 0 to 255, or -100"),
    ("negative_label.npz", "'label' has -1 at [0, 0]"),
    ("ignored.npz", "all labels in 'label' are -100"),
    ("float_label.npz", "array 'label' is f32[2,16], the model's input is i64[2,16]"),
    ("no_label.npz", "no array for input 'label'"),
    ("late.u16", "token 300 at position 339 is past the vocabulary of 256"),
]


class CommandLineTest(StepcTest):

    def test_wrong_usage(self):
        self.refused(2, WRONG_USAGE)

    def test_bad_input(self):
        self.refused(1, BAD_INPUT)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), sorted([*FILES, *DATA]),
                         "files were left behind")

    def test_a_compiled_step_takes_no_options_that_would_change_it(self):
        self.assertEqual(self.stepc(*PLAN, "--dim", "batch=2", "-q", "-o", "compiled").stderr, "")
        self.refused(2, [(["run", "compiled", "--lr", "1"], "--lr: the step in compiled is compiled already"),
                         (["run", "compiled", "--dim", "batch=4"], "--dim: the step")])

    def test_devices_are_written_to(self):
        self.assertEqual(self.stepc(*RUN, "-q", "--json", "/dev/null").returncode, 0)
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())

    def test_standard_output_that_cannot_be_written(self):
        for arguments in (["zoo"], ["--help"], [*PLAN, "--dim", "batch=1"], [*PLAN, "--dim", "batch=1", "--json", "-"]):
            with self.subTest(" ".join(arguments)), open("/dev/full", "w") as full:
                done = subprocess.run([STEPC, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, r"\Astepc: error: [^\n]*No space left[^\n]*\n\Z")

    def test_a_closed_standard_output_is_no_file_of_ours(self):
        json_file = self.folder / "report.json"
        subprocess.run([STEPC, *PLAN, "--dim", "batch=1", "--json", json_file], preexec_fn=lambda: os.close(1), check=True)
        json.loads(json_file.read_text())


class DataTest(StepcTest):
    # With a compiler that does not exist, what is said before kernels are compiled is all that can be said.
    def test_data_is_checked_before_kernels_are_compiled(self):
        run = [*TINY_RUN, "--dim", "batch=2"]
        cases = [([*run, "--steps", "100", "--data", name], part) for name, part in BAD_DATA]
        self.succeeds(*RUN, "-q", "--optimizer", "sgd", "--save", "sgd.safetensors")
        cases += [([*run, "--resume", "sgd.safetensors"], "holds no 'state/adamw.")]
        cases += [([*run, "--data", "good.npz"], "no C++ compiler")]
        self.refused(1, cases, CXX="absent-compiler", STEPC_CACHE_DIR=str(self.folder / "cache"))

    def test_micro_batches_are_one_batch(self):
        tokens = bytes(range(200)) * 8
        (self.folder / "text").write_bytes(tokens)
        common = [*TINY_RUN, "--target", "interpreter", "--data", "text", "--optimizer", "sgd:lr=0.5", "--steps", "3"]
        whole = self.losses(*common, "--dim", "batch=8")
        parts = self.losses(*common, "--dim", "batch=2", "--accumulate", "4")
        for a, b in zip(whole, parts, strict=True):
            self.assertAlmostEqual(a, b, places=5)
        self.assertNotAlmostEqual(whole[0], whole[2], places=3)


if __name__ == "__main__":
    unittest.main()
