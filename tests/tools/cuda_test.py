"""Target cuda as the program offers it, on a driver that tests stand in for: memory, notes, compiled folders, figures of kernels.

Kernels of that driver do nothing, so nothing here looks at what a step computes.
"""

import json
import os
import shutil
import unittest

from stepc_test import PLAN, TINY, TINY_RUN, StepcTest

# Of NVIDIA's libraries nothing but NVRTC runs without a GPU.
RUN = [*TINY_RUN, "--dim", "batch=2", "--target", "cuda", "--contractions", "generated"]
COMPILE = ["compile", *TINY, "--dim", "batch=2", "--weights", "random", "--target", "cuda:sm_90"]
FAKE = {"STEPC_CUDA_DRIVER": os.environ["STEPC_FAKE_CUDA_DRIVER"]}
NO_NVRTC = {"STEPC_NVRTC": "/nowhere"}


class CudaTest(StepcTest):
    def setUp(self):
        super().setUp()
        doctor = json.loads(self.stepc("doctor", "--json", "-").stdout)
        if "error" in doctor["nvrtc"]:
            self.skipTest(doctor["nvrtc"]["error"])

    def test_a_step_is_compiled_run_and_profiled(self):
        report = json.loads(self.succeeds(*RUN, "--steps", "4", "--json", "-", **FAKE))
        self.assertEqual(report["options"]["target"], "cuda")
        self.assertEqual(report["step"]["notes"], [])
        for row in report["kernels"]:
            self.assertRegex(row["name"], r"\Ak\d+_[a-z0-9_]+\Z")
            self.assertAlmostEqual(row["measured_us"] / row["count"], 10, places=1, msg=row["name"])
            for stage in row["code"]:
                self.assertGreater(stage["registers"], 0)
                self.assertGreater(stage["occupancy"], 0)
                self.assertEqual(stage["spill_bytes"], 0)

    def test_contractions_are_planned_for_the_library_unless_asked(self):
        def contractions(*options):
            report = json.loads(self.succeeds(*COMPILE, "--plan-only", "--json", "-", *options))
            return [row["source"] for row in report["kernels"] if row["kind"] == "contraction"]

        self.assertEqual(set(contractions()), {None})
        self.assertNotIn(None, contractions("--contractions", "generated"))

    def test_layers_share_their_functions(self):
        def functions(layers):
            report = json.loads(self.succeeds(
                "compile", "--family", "gpt2", "--layers", layers, "--dim", "32", "--heads", "2", "--seq", "16", "--vocab", "256",
                "--dim", "batch=2", "--target", "cuda:sm_90", "--contractions", "generated", "--optimizer", "none", "--plan-only",
                "--json", "-"))
            return {stage["symbol"] for row in report["kernels"] if row["scope"].startswith("blocks.") for stage in row["code"]}

        of_two = functions("2")
        self.assertGreater(len(of_two), 20)
        self.assertEqual(of_two, functions("4"))

    def test_memory_is_that_of_the_gpu(self):
        self.refused(1, [(RUN, "but GPU 'Fake H100' has 97.66 KiB left")], **FAKE, FAKE_CUDA_MEMORY="100000")
        spec = json.loads(self.succeeds("doctor", "--calibrate", "-o", "spec.json", "--json", "-") and
                          (self.folder / "spec.json").read_text())
        spec.update(name="tiny", memory_bytes=1000)
        (self.folder / "spec.json").write_text(json.dumps(spec))
        self.assertRegex(self.succeeds(*PLAN, "--dim", "batch=2", "--target", "cuda", "--device-spec", "spec.json"),
                         r"note: the step needs .*, a tiny has 1000 B: ")

    def test_a_compiled_folder_runs_where_there_is_no_compiler(self):
        self.succeeds(*COMPILE, "--contractions", "generated", "-q", "-o", "step")
        run = ["run", "step", "--json", "-"]
        report = json.loads(self.succeeds(*run, **FAKE, **NO_NVRTC))
        self.assertEqual((report["options"]["target"], report["options"]["contractions"]), ("cuda", "generated"))
        self.assertEqual(report["step"]["notes"], [])
        self.assertGreater(report["kernels"][0]["code"][0]["registers"], 0)

        def note(**environment):
            notes = json.loads(self.succeeds(*run, **{**FAKE, **environment}))["step"]["notes"]
            self.assertEqual(len(notes), 1)
            return notes[0]

        self.assertIn("are compiled again: they are for sm_90, this GPU is sm_80", note(FAKE_CUDA_CAPABILITY="8.0"))
        kernels = self.folder / "step/kernels"
        cubin = kernels / "unit00.sm_90.cubin"
        whole = cubin.read_bytes()
        cubin.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        self.assertIn("unit00.sm_90.cubin is damaged", note())
        self.refused(1, [(run, "STEPC_NVRTC")], **FAKE, **NO_NVRTC)
        cubin.write_bytes(whole)
        index = json.loads((kernels / "kernels.json").read_text())
        index["units"][0]["source_hash"] = "0"
        (kernels / "kernels.json").write_text(json.dumps(index))
        self.assertIn("unit00.cu is not the code of this step", note())
        (kernels / "kernels.json").write_text("{")
        self.assertIn("kernels.json is damaged", note())
        shutil.rmtree(kernels)
        self.assertIn("kernels.json", note())

    def test_drivers_and_gpus_that_do_not_serve_are_one_line(self):
        self.refused(1, [(RUN, "no CUDA driver on this machine")], **{**FAKE, "STEPC_CUDA_DRIVER": "/nowhere"})
        self.refused(1, [(RUN, "for which no kernels are compiled")], **FAKE, FAKE_CUDA_CAPABILITY="7.5")
        self.refused(1, [(RUN, "too old")], **FAKE, FAKE_CUDA_VERSION="11080")
        self.refused(2, [([*COMPILE, "--contractions", "x"], "library or generated")])


if __name__ == "__main__":
    unittest.main()
