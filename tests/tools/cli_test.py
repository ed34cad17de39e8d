"""Bad command lines and bad files end with one clear line and the documented exit status."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

STEPC = os.environ["STEPC"]
TINY = ["--family", "llama", "--layers", "1", "--dim", "32", "--heads", "2", "--ffn", "64", "--seq", "16",
        "--vocab", "256"]
RUN = ["run", *TINY, "--dim", "batch=2", "--target", "interpreter"]
PLAN = ["compile", "--plan-only", *TINY]

WRONG_USAGE = [
    (["bogus"], "unknown command 'bogus'"),
    ([], "name a command"),
    (["run"], "name a model"),
    (["opt"], "name a file"),
    (["sweep", "x"], "not available yet"),
    ([*RUN, "--bogus"], "--bogus; stepc run --help"),
    ([*RUN, "--memory-budget", "80%"], "not available yet"),
    ([*RUN, "--precision", "bf16"], "not available yet"),
    (["run", "--family", "llama", "--target", "cuda"], "not available yet"),
    ([*RUN, "--lr", "nan"], "expected a number from 0"),
    ([*RUN, "--seed", "-1"], "expected a number from 0"),
    ([*RUN, "--steps", "-1"], "expected a number from 0"),
    ([*RUN, "--clip-norm", "0"], "expected a number above 0"),
    ([*RUN, "--optimizer", "sgd:speed=1"], "no key 'speed'"),
    ([*PLAN, "--dim", "batch=1", "--dump-onnx"], "say where with --dump-after"),
    ([*PLAN, "--dim", "batch=-3"], "cannot be negative"),
    ([*PLAN, "--dim", "batch=1e3"], "expected NAME=N"),
    ([*PLAN, "--dim", "batch=99999999999999999999"], "does not fit 64 bits"),
    ([*PLAN, "--dim", "batch=1", "--dim", "batch=2"], "already bound to 1"),
]

BAD_INPUT = [
    (["inspect", "absent.onnx"], "No such file"),
    (["inspect", "absent"], "no file or zoo model"),
    (["inspect", "llama"], "--family llama"),
    (["inspect", "empty.onnx"], "empty"),
    (["inspect", "garbage.onnx"], "not an ONNX model"),
    (["inspect", "."], "not a regular file"),
    (["inspect", "/dev/zero"], "not a regular file"),
    (["opt", "garbage.ir", "--passes=dce"], "garbage.ir:1:1"),
    (PLAN, "--dim batch=N"),
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
    ([*RUN, "--skip", "autodiff"], "means nothing without"),
    ([*RUN, "--stop-after", "autodiff"], "not complete"),
]

FILES = {
    "empty.onnx": b"",
    "garbage.onnx": b"\xff\x00garbage",
    "garbage.ir": b"\x01",
    "garbage.npz": b"PK\x03\x04",
    "garbage.safetensors": b"\xff" * 16,
    "odd.u16": b"abc",
    "short.u8": b"abc",
    "high.u16": b"\xff\xff" * 64,
}


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name, content in FILES.items():
            (self.folder / name).write_bytes(content)

    def stepc(self, *arguments):
        return subprocess.run([STEPC, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60)

    def refused(self, status, cases):
        for arguments, part in cases:
            with self.subTest(" ".join(arguments)):
                done = self.stepc(*arguments)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertRegex(done.stderr, r"\Astepc: error: [^\n]*\n\Z")
                self.assertIn(part, done.stderr)

    def test_wrong_usage(self):
        self.refused(2, WRONG_USAGE)

    def test_bad_input(self):
        self.refused(1, BAD_INPUT)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), sorted(FILES), "files were left behind")

    def test_a_compiled_step_takes_no_options_that_would_change_it(self):
        self.assertEqual(self.stepc(*PLAN, "--dim", "batch=2", "-q", "-o", "compiled").stderr, "")
        self.refused(2, [(["run", "compiled", "--lr", "1"], "--lr: the step in compiled is compiled already"),
                         (["run", "compiled", "--dim", "batch=4"], "--dim: the step")])

    def test_devices_are_written_to(self):
        self.assertEqual(self.stepc(*RUN, "-q", "--json", "/dev/null").returncode, 0)
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())

    def test_resuming_continues_bit_for_bit(self):
        plain = [*RUN, "-q"]
        self.stepc(*plain, "--steps", "4", "--dump-weights", "whole.npz")
        self.stepc(*plain, "--steps", "2", "--save", "half.safetensors")
        self.assertEqual(self.stepc(*plain, "--steps", "2", "--resume", "half.safetensors", "--dump-weights",
                                    "resumed.npz").stderr, "")
        self.assertEqual((self.folder / "whole.npz").read_bytes(), (self.folder / "resumed.npz").read_bytes())


if __name__ == "__main__":
    unittest.main()
