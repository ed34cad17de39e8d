"""tools/gpu_check without a GPU: small models on the CPU, and what it says where there is no driver."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

STEPC = os.environ["STEPC"]
SCRIPT = str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "gpu_check")


def gpu_check(*arguments, **environment):
    """(exit status, printed lines, the JSON, the Markdown)"""
    with tempfile.TemporaryDirectory() as out:
        result = subprocess.run([sys.executable, SCRIPT, "--stepc", STEPC, "--out", out, *arguments], capture_output=True, text=True,
                                env=dict(os.environ, **environment))
        files = [pathlib.Path(out) / f"gpu_check.{end}" for end in ("json", "md")]
        texts = [file.read_text() if file.is_file() else "" for file in files]
    return result.returncode, result.stdout.splitlines(), json.loads(texts[0] or "{}"), texts[1]


class GpuCheckTest(unittest.TestCase):
    def test_steps_on_the_cpu(self):
        status, lines, results, markdown = gpu_check("--target", "cpu", "--scale", "tiny", "--only", "^(stepc gpt2.* fp32 seq 16|sanitizer gpt2)")
        self.assertEqual(status, 0, lines)
        profile, sanitizer = results["items"]
        self.assertEqual((profile["status"], sanitizer["status"]), ("passed", "skipped"), lines)
        self.assertGreater(profile["figures"]["step"]["measured_us"]["median"], 0)
        # embed and position [256 + 16, 32], norms 3·64, q k v o 4·(32·32 + 32), up and down 2·32·64 + 64 + 32
        self.assertEqual(profile["figures"]["parameters"], 272 * 32 + 192 + 4 * 1056 + 4192)
        self.assertIn("| gpt2-tiny | fp32 | 16 | 4 |", markdown)
        self.assertIn("compute-sanitizer sees target cuda alone", markdown)

    def test_missing_goldens_fail(self):
        """Nothing is compared, which is not taken for agreement."""
        with tempfile.TemporaryDirectory() as empty:
            shutil.copy("tests/data/models/param_map.json", empty)
            status, _, results, _ = gpu_check("--target", "interpreter", "--models", empty, "--only", "^golden vit_legacy on interpreter$")
        self.assertEqual((status, results["items"][0]["status"]), (1, "failed"))
        self.assertIn("nothing was compared for vit_legacy", results["items"][0]["reason"])

    def test_without_a_driver(self):
        status, lines, results, markdown = gpu_check(STEPC_CUDA_DRIVER="/nowhere/libcuda.so.1")
        self.assertEqual(status, 0)
        self.assertEqual(len(lines), 2, lines)
        self.assertTrue(lines[0].startswith("gpu_check: "), lines)
        self.assertEqual({item["status"] for item in results["items"]}, {"skipped"})
        self.assertTrue(all(item["name"] in markdown for item in results["items"]))

    def test_no_time(self):
        status, _, results, _ = gpu_check("--target", "interpreter", "--scale", "tiny", "--budget", "0", "--only", "^stepc")
        self.assertEqual(status, 0)
        self.assertEqual({item["reason"] for item in results["items"]}, {"0 s left of 0 s"})


if __name__ == "__main__":
    unittest.main()
