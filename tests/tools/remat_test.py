"""Recomputing changes memory and nothing else: losses, weights and gradients are those of the plain step, bit for bit."""

import json
import unittest

from stepc_test import StepcTest

MODEL = ["--family", "gpt2", "--layers", "4", "--dim", "64", "--heads", "4", "--vocab", "61", "--seq", "32"]
STEP = [*MODEL, "--dim", "batch=2"]
POLICIES = ["min-cut", "block", "block:3", "sqrt", "matmuls", "selective", "names:*mlp*"]


class Remat(StepcTest):
    def report(self, *arguments):
        return json.loads(self.succeeds(*arguments, "--json", "-"))

    def weights_after(self, *options):
        self.succeeds("run", *STEP, "--steps", "3", "--threads", "2", "-q", "--dump-weights", "out.npz", *options)
        return (self.folder / "out.npz").read_bytes()

    def test_every_policy_trains_to_the_same_bits(self):
        self.trains_to_the_same_bits(POLICIES)
        for extra in [["--fuse-attention", "off", "--clip-norm", "1"], ["--precision", "bf16"],
                      ["--dropout", "on", "--fuse", "off"]]:
            self.trains_to_the_same_bits(["block:3", "selective"], *extra)

    def trains_to_the_same_bits(self, policies, *extra):
        plain = self.weights_after(*extra)
        for policy in policies:
            with self.subTest(policy=policy, extra=extra):
                self.assertEqual(self.weights_after(*extra, "--remat", policy), plain)

    def test_gradients_are_the_same_bits(self):
        def gradients(*options):
            self.succeeds("run", *STEP, "--optimizer", "none", "-q", "--outputs", "out.npz", *options)
            return (self.folder / "out.npz").read_bytes()

        self.assertEqual(gradients("--remat", "block:2"), gradients())

    def test_a_segment_at_a_time_is_alive(self):
        """Chen et al. 2016: L/E entries of a bytes, and E layers that save A1."""
        entry = 4 * 2048 * 2560 * 4
        layer = self.planned("none")["memory"]["activations"] / 4
        for segment in [1, 2, 4]:
            expected = 4 / segment * entry + segment * layer
            with self.subTest(segment=segment):
                activations = self.planned(f"block:{segment}")["memory"]["activations"]
                self.assertLess(abs(activations / expected - 1), 0.07)

    def planned(self, policy):
        return self.report("compile", "xl16", "--blocks-only", "--layers", "4", "--dim", "batch=4", "--seq", "2048",
                           "--fuse-attention", "off", "--loss", "mean", "--optimizer", "none", "--plan-only", "--remat",
                           policy)

    def test_products_that_are_made_again(self):
        """matmuls: attention's own, 4BT^2NH; selective: its scores alone, 2BT^2NH."""
        scores = 4 * 2 * 4 * 2048**2 * 2560  # of 4 layers at batch 4
        for policy, products in [("matmuls", 2 * scores), ("selective", scores)]:
            with self.subTest(policy=policy):
                again = [kernel for kernel in self.planned(policy)["kernels"]
                         if kernel["kind"] == "contraction" and kernel["phase"] == "recompute"]
                self.assertEqual(sum(kernel["flops"] for kernel in again), products)

    def test_what_is_refused(self):
        plan = ["compile", *STEP, "--plan-only", "--remat"]
        self.refused(2, [([*plan, policy], message) for policy, message in [
            ("blocks", "unknown remat policy 'blocks'; choose from none, min-cut, block[:E]"),
            ("block:", "--remat block:: write block[:E]"),
            ("sqrt:2", "--remat sqrt:2: write sqrt"),
        ]])
        self.refused(1, [([*plan, policy], message) for policy, message in [
            ("block:0", "--remat block:0: a segment is a whole number of layers"),
            ("names", "--remat names: needs globs"),
            ("names:nothing", "--remat names:nothing: no value of the forward has such a name"),
        ]])


if __name__ == "__main__":
    unittest.main()
