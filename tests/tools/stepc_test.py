"""What tests of the program share: small models, files good and bad, and how the program is called and judged."""

import array
import io
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import zipfile

STEPC = os.environ["STEPC"]
TINY = ["--family", "llama", "--layers", "1", "--dim", "32", "--heads", "2", "--ffn", "64", "--seq", "16",
        "--vocab", "256"]
TINY_RUN = ["run", *TINY]
RUN = [*TINY_RUN, "--dim", "batch=2", "--target", "interpreter"]
PLAN = ["compile", "--plan-only", *TINY]

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




def npz(**arrays):
    """An .npz of {name: (typecode of the array module, values)}, each of shape [2, 16]."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        for name, (typecode, values) in arrays.items():
            kind = {"q": "<i8", "f": "<f4"}[typecode]
            header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': (2, 16), }}".ljust(117) + "\n"
            head = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
            members.writestr(name + ".npy", head + array.array(typecode, values).tobytes())
    return archive.getvalue()


def integers(first=None, fill=1):
    return ("q", [fill if first is None else first] + [fill] * 31)


IDS = integers()
DATA = {
    "good.npz": npz(input_ids=IDS, label=integers(2)),
    "high_id.npz": npz(input_ids=integers(256), label=IDS),
    "high_label.npz": npz(input_ids=IDS, label=integers(256)),
    "negative_label.npz": npz(input_ids=IDS, label=integers(-1)),
    "ignored.npz": npz(input_ids=IDS, label=integers(fill=-100)),
    "float_label.npz": npz(input_ids=IDS, label=("f", [float("nan")] * 32)),
    "no_label.npz": npz(input_ids=IDS),
    # The last of its windows alone holds an id past the vocabulary.
    "late.u16": array.array("H", [1] * 339 + [300]).tobytes(),
}
class StepcTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name, content in {**FILES, **DATA}.items():
            (self.folder / name).write_bytes(content)

    def stepc(self, *arguments, **environment):
        return subprocess.run([STEPC, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60,
                              env={**os.environ, **environment})

    def succeeds(self, *arguments, **environment):
        done = self.stepc(*arguments, **environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def losses(self, *arguments, **environment):
        return json.loads(self.succeeds(*arguments, "--json", "-", **environment))["losses"]

    def refused(self, status, cases, **environment):
        for arguments, part in cases:
            with self.subTest(" ".join(arguments)):
                done = self.stepc(*arguments, **environment)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertRegex(done.stderr, r"\Astepc: error: [^\n]*\n\Z")
                self.assertIn(part, done.stderr)
