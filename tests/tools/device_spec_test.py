"""Device specifications: what --device-spec takes, what it refuses, and what the report predicts from it."""

import json
import unittest

from stepc_test import PLAN, StepcTest

SPEC = {"schema": "stepc-device/1", "name": "toy", "bytes_per_s": 1e9, "flops_per_s": 1e9, "launch_us": 1}
BAD = {
    "not JSON": "{",
    "expected an object": "[]",
    "'schema' must be": json.dumps({**SPEC, "schema": "other"}),
    "'name' is missing": json.dumps({**SPEC, "name": ""}),
    "'bytes_per_s' is missing": json.dumps({k: v for k, v in SPEC.items() if k != "bytes_per_s"}),
    "'flops_per_s' must be a number": json.dumps({**SPEC, "flops_per_s": 0}),
    "'launch_us' must be a number": json.dumps({**SPEC, "launch_us": "5"}),
    "'memory_bytes' must be a number": json.dumps({**SPEC, "memory_bytes": -1}),
    "'bytes_per_s' must be a number": '{"schema": "stepc-device/1", "name": "x", "bytes_per_s": 1e30}',
    "unknown key 'speed'": json.dumps({**SPEC, "speed": 1}),
    "contraction_flops_per_s: expected an object": json.dumps({**SPEC, "contraction_flops_per_s": 1}),
    "contraction_flops_per_s: unknown key 'int8'": json.dumps({**SPEC, "contraction_flops_per_s": {"int8": 1}}),
    "at most 65536 are read": " " * 70000,
    "unknown key 'a\\x00\\x0a'": json.dumps({**SPEC, "a\0\n": 1}),
    "'contraction_fraction' must be a number from 1e-06 to 1": json.dumps({**SPEC, "contraction_fraction": 1e-300}),
}


class DeviceSpecTest(StepcTest):
    def plan(self, *options):
        return json.loads(self.succeeds(*PLAN, "--dim", "batch=2", "--fuse", "full", "--json", "-", *options))

    def test_predictions_follow_the_device(self):
        steps = {}
        for name in ("cpu", "rtx5090", "rtx4090", "a100", "h100", "h200", "b200", "l4"):
            report = self.plan("--device-spec", name)
            self.assertEqual(report["options"]["device_spec"]["name"], name)
            self.assertTrue(report["options"]["device_spec"]["source"])
            self.assertTrue(all(row["predicted_us"] > 0 for row in report["kernels"]))
            self.assertTrue(all(row["bound"] in ("compute", "memory", "launch") for row in report["kernels"]))
            self.assertTrue(all(row["predicted_step_us"] > 0 for row in report["passes"]))
            steps[name] = report["step"]["predicted_us"]
            self.assertAlmostEqual(steps[name], sum(row["predicted_us"] for row in report["kernels"]), 3)
        self.assertLess(steps["h100"], steps["cpu"])

    def test_a_kernel_of_known_size(self):
        """y = x·w: by hand from the rates of a device that only contracts slowly."""
        spec = {**SPEC, "bytes_per_s": 1e15, "flops_per_s": 1e15, "launch_us": 0,
                "contraction_flops_per_s": {"float32": 1e9}, "contraction_fraction": 0.5}
        (self.folder / "slow.json").write_text(json.dumps(spec))
        rows = self.plan("--device-spec", "slow.json")["kernels"]
        for row in rows:
            if row["kind"] == "contraction":
                self.assertAlmostEqual(row["predicted_us"] / (row["flops"] / 500), 1, 6)
                self.assertEqual(row["bound"], "compute")
        self.assertTrue(any(row["kind"] == "contraction" for row in rows))

    def test_what_doctor_measures_can_be_given(self):
        doctor = json.loads(self.succeeds("doctor", "--calibrate", "-o", "own.json", "--json", "-"))
        self.assertEqual(doctor["device_spec"], "own.json")
        spec = json.loads((self.folder / "own.json").read_text())
        for key in ("bytes_per_s", "flops_per_s", "launch_us"):
            self.assertGreater(spec[key], 0)
        used = self.plan("--device-spec", "own.json")["options"]["device_spec"]
        self.assertIn("measured by stepc doctor --calibrate", used["source"])

    def test_refused_in_one_line(self):
        for message, text in BAD.items():
            (self.folder / "bad.json").write_text(text)
            done = self.stepc(*PLAN, "--dim", "batch=2", "--device-spec", "bad.json")
            self.assertEqual((done.returncode, done.stdout), (1, ""), message)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_deep_nesting_is_refused(self):
        (self.folder / "deep.json").write_text("[" * 60000)
        self.assertEqual(self.stepc(*PLAN, "--dim", "batch=2", "--device-spec", "deep.json").returncode, 1)

    def test_unknown_name_lists_the_known(self):
        done = self.stepc(*PLAN, "--dim", "batch=2", "--device-spec", "h1000")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cpu, rtx5090", done.stderr)


if __name__ == "__main__":
    unittest.main()
