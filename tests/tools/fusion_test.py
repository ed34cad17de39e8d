"""What the report says of the fusion levels."""

import json
import pathlib
import unittest

from stepc_test import PLAN, StepcTest

MIB = 1 << 20

# A norm whose gradient comes from behind, with respect to x and w: the product that follows is not trained.
NORM = """graph @norm {
  %w: f32[2560] = input weight "norm.weight" trainable
  %p: f32[2560,8] = input weight "p"
  %x: f32[4,512,2560] = input data "x"
  %1: f32[4,512,2560] = mul %x, %x
  %2: f32[4,512,1] = reduce_sum %1 {axes=[2], keepdims=true}
  %3: f32[] = constant {data=[2560.0]}
  %4: f32[4,512,1] = div %2, %3
  %5: f32[] = constant {data=[0x1.4f8b58p-17]}
  %6: f32[4,512,1] = add %4, %5
  %7: f32[4,512,1] = sqrt %6
  %8: f32[4,512,2560] = div %x, %7
  %y: f32[4,512,2560] = mul %8, %w
  %z: f32[4,512,8] = contraction %y, %p {accumulate=f32, spec="abc,cd->abd"}
  output output "z" %z
}
"""

# A sum that reads its operand across its rows, which no fusion makes worth having.
SUM = """graph @sum {
  %x: f32[64,4096] = input data "x"
  %t: f32[4096,64] = transpose %x {perm=[1,0]}
  %q: f32[4096] = reduce_sum %t {axes=[1], keepdims=false}
  %z: f32[4096] = exp %q
  output output "z" %z
}
"""


def launches(report, phases):
    return sum(row["count"] for row in report["kernels"] if row["phase"] in phases and row["kind"] != "contraction")


class FusionReportTest(StepcTest):
    def report(self, level, *options):
        return json.loads(self.succeeds(*PLAN, "--dim", "batch=2", "--fuse", level, "--json", "-", *options))

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

    def planned(self, *arguments):
        return json.loads(self.succeeds("compile", "--plan-only", *arguments, "--fuse", "full", "--json", "-"))

    def blocks(self, model, layers, *arguments):
        return self.planned(model, "--blocks-only", "--layers", str(layers), "--weights", "none", "--loss", "mean-square",
                            *arguments)

    def launches_per_block(self, model):
        """(forward, backward): what one more block adds, library contractions aside; two stages count two."""
        phases = ["forward"], ["backward", "recompute"]
        three, four = (self.blocks(model, layers, "--dim", "batch=2", "--seq", "256") for layers in (3, 4))
        return tuple(launches(four, phase) - launches(three, phase) for phase in phases)

    def test_kernels_per_block(self):
        self.assertEqual(self.launches_per_block("llama-100m"), (6, 8))
        self.assertEqual(self.launches_per_block("gpt2-124m"), (4, 13))

    def test_a_norm_touches_memory_once(self):
        pathlib.Path(self.folder, "norm.ir").write_text(NORM)
        report = self.planned("norm.ir", "--loss", "mean-square", "--optimizer", "none", "--grad-inputs", "*")
        forward = [row for row in report["kernels"] if row["phase"] == "forward" and row["kind"] != "contraction"]
        self.assertEqual([(row["kind"], row["count"]) for row in forward], [("row_reduction", 1)])
        self.assertEqual((forward[0]["read_bytes"] + forward[0]["write_bytes"]) // MIB, 40)
        norm = [row for row in report["kernels"] if row["kind"] == "inner_outer"]  # dx and dw
        self.assertEqual([row["count"] for row in norm], [2])
        self.assertEqual((norm[0]["read_bytes"] + norm[0]["write_bytes"]) // MIB, 60)
        saved = {row["value"]: row["new_bytes"] for row in report["saved"]}
        self.assertEqual(set(saved) - {"p", "z"}, {"x", "w", "rsqrt(x)"})
        self.assertEqual(saved["rsqrt(x)"], 8192)

    def test_saved_bytes_of_a_large_block(self):
        report = self.blocks("xl16", 4, "--dim", "batch=4", "--seq", "2048")
        saved = sum(row["new_bytes"] for row in report["saved"] if (row["scope"] or "").startswith("blocks."))
        self.assertLessEqual(saved / 4, 1125 * MIB)

    def test_no_level_raises_the_peak(self):
        for model in ("gpt2-124m", "llama-100m", "bert-base"):
            peaks = [json.loads(self.succeeds("compile", "--plan-only", model, "--layers", "2", "--weights", "none", "--dim",
                                              "batch=2", "--seq", "128", "--fuse", level, "--json", "-"))["memory"]["peak"]
                     for level in ("off", "pointwise", "full")]
            with self.subTest(model):
                self.assertLess(peaks[1], peaks[0])
                self.assertLess(peaks[2], 1.01 * peaks[1])  # a note would say more

    def test_the_loss_takes_in_the_head_unless_told_otherwise(self):
        kinds = lambda report: [kernel["kind"] for kernel in report["kernels"]]
        full = self.report("full")
        self.assertEqual(kinds(full).count("linear_cross_entropy"), 1)
        self.assertIn("one kernel: the logits are made once", [verdict["reason"] for verdict in full["fusion"]])
        stored = json.loads(self.succeeds(*PLAN, "--dim", "batch=2", "--fuse", "full", "--fuse-loss", "off", "--json", "-"))
        self.assertNotIn("linear_cross_entropy", kinds(stored))
        self.assertIn("--fuse-loss off", [verdict["reason"] for verdict in stored["fusion"]])
        self.assertEqual(stored["flops"]["forward"], full["flops"]["forward"])
        self.refused(2, [((*PLAN, "--dim", "batch=2", "--fuse-loss", "maybe"), "expected on or off")])

    def test_a_loss_that_holds_the_peak_for_few_rows_says_so(self):
        few, many = (json.loads(self.succeeds("compile", "--plan-only", "gpt2-124m", "--layers", "1", "--weights", "none",
                                              "--dim", "batch=2", "--seq", seq, "--json", "-")) for seq in ("32", "256"))
        notes = lambda report: " ".join(note for row in report["passes"] for note in row["notes"])
        self.assertIn("linear cross-entropy holds the peak", notes(few))
        self.assertNotIn("linear cross-entropy holds the peak", notes(many))

    def test_kernels_of_their_own_kinds_have_verdicts_too(self):
        reasons = {(verdict["consumer"].split()[0], verdict["reason"]) for verdict in self.report("full")["fusion"]}
        self.assertIn(("contraction", "the consumer is a kernel of its own kind"), reasons)
        self.assertIn(("contraction", "both are kernels of their own kinds"), reasons)

    def test_attention_off_is_its_parts(self):
        kinds = {row["kind"] for row in self.report("full", "--fuse-attention", "off")["kernels"]}
        self.assertNotIn("attention", kinds)
        self.assertIn("attention", {row["kind"] for row in self.report("full")["kernels"]})


class FusionEdgesTest(StepcTest):
    PLAN = [*PLAN, "--dim", "batch=2", "--fuse-loss", "off", "--fuse"]  # that edge is the pass fuse-loss's

    def verdicts(self, lines="# none"):
        (self.folder / "edges.txt").write_text(lines)
        report = json.loads(self.succeeds(*self.PLAN, "full", "--fuse-edges", "edges.txt", "--json", "-"))
        return {(row["producer"], row["consumer"]): row for row in report["fusion"]}

    def refused(self, lines, message, level="full"):
        (self.folder / "edges.txt").write_text(lines)
        done = self.stepc(*self.PLAN, level, "--fuse-edges", "edges.txt")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, f"stepc: error: {message}\n")

    def test_forbidden_edges_stay_apart(self):
        fused = [edge for edge, row in self.verdicts().items() if row["fused"]]
        for producer, consumer in fused[::7]:
            rows = self.verdicts(f"# one edge\n\nforbid {producer} -> {consumer}\n")
            self.assertEqual(rows[producer, consumer]["reason"], "forbidden")
            self.assertFalse(rows[producer, consumer]["fused"])

    def test_all_forbidden_is_no_fusion(self):
        self.assertFalse(any(row["fused"] for row in self.verdicts("forbid * -> *\n").values()))

    def test_forced_edges_are_joined_and_the_last_line_decides(self):
        fused = next(edge for edge, row in self.verdicts().items() if row["fused"])
        rows = self.verdicts(f"forbid * -> *\n  force {fused[0]}   ->  {fused[1]} \n")
        self.assertEqual([edge for edge, row in rows.items() if row["fused"]], [fused])
        self.assertEqual(rows[fused]["reason"], "forced")

    def test_what_cannot_be_fused_is_refused_with_the_reason(self):
        edges = self.verdicts()
        for reason in ("another part of the step", "both are kernels of their own kinds"):
            producer, consumer = next(edge for edge, row in edges.items() if row["reason"] == reason)
            self.refused(f"force {producer} -> {consumer}",
                         f"edges.txt:1:1: {producer} -> {consumer} cannot be fused: {reason}")

    def test_bad_files(self):
        hint = "expected PRODUCER -> CONSUMER, as in 'contraction %*/q/* -> add %*'"
        for lines, message in {
            "fuse a -> b": "edges.txt:1:1: 'fuse': an override begins with force or forbid",
            "f\0\x1b a": r"edges.txt:1:1: 'f\x00\x1b': an override begins with force or forbid",
            "x" * 100_000: f"edges.txt:1:1: '{'x' * 160}...': an override begins with force or forbid",
            "\n  force": f"edges.txt:2:8: {hint}",
            "# x\nforbid a b": f"edges.txt:2:8: {hint}",
            "force a->b": f"edges.txt:1:7: {hint}",
            "force  -> b": "edges.txt:1:8: no producer before '->'",
            "force a ->": "edges.txt:1:11: no consumer after '->'",
            "forbid nothing -> *": "edges.txt:1:1: no edge is nothing -> *; the report of --json lists all under 'fusion' "
                                   "(that of a head and its loss is decided before: --fuse-loss)",
        }.items():
            self.refused(lines, message)
        self.refused("force * -> *", "edges.txt:1:1: single edges are forced and forbidden at fusion level full only",
                     "off")
        self.refused("#" * (1 << 24) + "\n", f"edges.txt has {(1 << 24) + 1} bytes; at most {1 << 24} are read")
        done = self.stepc(*self.PLAN, "full", "--fuse-edges", "missing.txt")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))

    def test_every_edge_has_a_name_of_its_own_and_takes_a_rule_of_its_own(self):
        report = json.loads(self.succeeds(*self.PLAN, "full", "--json", "-"))
        edges = [(row["producer"], row["consumer"]) for row in report["fusion"] if row["reason"] != "--fuse-loss off"]
        self.assertEqual(len(edges), len(set(edges)))
        rows = self.verdicts("".join(f"forbid {producer} -> {consumer}\n" for producer, consumer in edges))
        self.assertEqual({rows[edge]["reason"] for edge in edges}, {"forbidden"})

    def opt(self, lines, *options):
        (self.folder / "sum.ir").write_text(SUM)
        (self.folder / "edges.txt").write_text(lines)
        return self.stepc("opt", "sum.ir", "--passes", "fuse", "--fuse", "full", "--fuse-edges", "edges.txt", *options)

    def test_opt_reads_the_edges_and_the_device(self):
        self.assertNotIn("fused", self.opt("forbid reduce_sum %q -> exp %z").stdout)
        self.assertEqual(self.opt("forbid nothing -> *").returncode, 1)
        self.assertEqual(self.opt("# none", "--device-spec", "nothing").returncode, 1)

    def test_a_forced_edge_is_not_refused_for_being_slow(self):
        self.assertNotIn("fused", self.opt("# none").stdout)
        self.assertIn("%z: f32[4096] = fused %t", self.opt("force reduce_sum %q -> exp %z").stdout)


if __name__ == "__main__":
    unittest.main()
