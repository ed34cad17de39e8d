"""What the report says of the fusion levels."""

import json
import unittest

from stepc_test import PLAN, StepcTest


class FusionReportTest(StepcTest):
    def report(self, level):
        return json.loads(self.succeeds(*PLAN, "--dim", "batch=2", "--fuse", level, "--json", "-"))

    def saved_bytes(self, report):
        return sum(row["new_bytes"] for row in report["saved"])

    def test_full_recomputes_what_is_cheap(self):
        pointwise, full = self.report("pointwise"), self.report("full")
        self.assertEqual(pointwise["flops"]["recompute"], 0)
        self.assertGreater(full["flops"]["recompute"], 0)
        self.assertLess(self.saved_bytes(full), self.saved_bytes(pointwise))
        self.assertLess(len(full["kernels"]), len(pointwise["kernels"]))

    def test_every_verdict_has_a_reason_and_is_the_same_again(self):
        verdicts = self.report("full")["fusion"]
        self.assertEqual({verdict["fused"] for verdict in verdicts}, {True, False})
        self.assertTrue(all(verdict["reason"] for verdict in verdicts))
        self.assertEqual(self.report("full")["fusion"], verdicts)
        self.assertIsNone(self.report("pointwise")["fusion"])


if __name__ == "__main__":
    unittest.main()
