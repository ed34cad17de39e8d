"""The graph of a compiled folder is text that anyone may edit: it runs, or is refused with one line.

STEPC_ROUNDS sets how many edited graphs are tried."""

import os
import random
import re
import unittest

from stepc_test import TINY, StepcTest

ROUNDS = int(os.environ.get("STEPC_ROUNDS", "60"))
NUMBERS = ["-1", "0", "1", "2", "3", "7", "16", "17", "255", "4294967296", "9223372036854775807", "-9223372036854775808"]
WORDS = ["f32", "f64", "f16", "bf16", "i64", "i32", "bool", "forward", "loss", "backward", "recompute", "optimizer", "true",
         "false", "nan", "inf", "add", "mul", "div", "sub", "maximum", "exp", "log", "sqrt", "neg", "relu", "reduce_sum",
         "reduce_max", "arg_max", "softmax", "cumsum", "transpose", "reshape", "expand", "slice", "gather", "fused"]
NODE = re.compile(r"^( +)(%\S+): (f32|f64)\[([0-9,]+)\] = (?!input )(\w+) (.*)$")


def inserted(draw, match):
    """Lines that make the node's result by way of one more operation, which leaves all types right."""
    indent, name, dtype, dims, op, rest = match.groups()
    phase = re.search(r" phase \w+", rest)
    phase = phase.group() if phase else ""
    sizes = dims.split(",")
    axis = draw.randrange(len(sizes))
    kept = ",".join("1" if i == axis else size for i, size in enumerate(sizes))
    backwards = ",".join(str(i) for i in reversed(range(len(sizes))))
    reversed_dims = ",".join(reversed(sizes))
    type, less = f"{dtype}[{dims}]", f"{dtype}[{kept}]"
    before, more = "%fuzz.0", "%fuzz.1"
    ways = [
        [f"{name}: {type} = {draw.choice(['exp', 'tanh', 'erf', 'silu', 'gelu'])} {before}"],
        [f"{name}: {type} = cumsum {before} {{axis={axis}, exclusive={draw.choice(['true', 'false'])}, reverse=false}}"],
        [f"{name}: {type} = {draw.choice(['softmax', 'log_softmax'])} {before} {{axis={axis}}}"],
        [f"{more}: {less} = {draw.choice(['reduce_sum', 'reduce_max', 'reduce_prod'])} {before} "
         f"{{axes=[{axis}], keepdims=true}}", f"{name}: {type} = {draw.choice(['add', 'sub'])} {before}, {more}"],
        [f"{more}: {dtype}[{reversed_dims}] = transpose {before} {{perm=[{backwards}]}}",
         f"{name}: {type} = transpose {more} {{perm=[{backwards}]}}"],
        [f"{more}: {dtype}[{reversed_dims}] = reshape {before} {{shape=[{reversed_dims}]}}",
         f"{name}: {type} = reshape {more} {{shape=[{dims}]}}"],
        [f"{more}: i64[{kept}] = arg_max {before} {{axis={axis}, keepdims=true}}",
         f"%fuzz.2: {less} = cast {more} {{to={dtype}}}", f"{name}: {type} = mul {before}, %fuzz.2"],
    ]
    return [f"{indent}{before}: {type} = {op} {rest}", *(f"{indent}{line}{phase}" for line in draw.choice(ways))]


def replaced(draw, line, pattern, choices):
    found = list(re.finditer(pattern, line))
    if not found:
        return line
    place = draw.choice(found)
    return line[:place.start()] + draw.choice(choices) + line[place.end():]


def edited(draw, text):
    lines = text.split("\n")
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        at = draw.randrange(len(lines))
        kind = draw.randrange(8)
        nodes = [i for i, line in enumerate(lines) if NODE.match(line) and "%fuzz" not in line]
        if kind < 4 and nodes:
            at = draw.choice(nodes)
            lines[at:at + 1] = inserted(draw, NODE.match(lines[at]))
        elif kind == 4:
            lines[at] = replaced(draw, lines[at], r"-?\b\d+\b", NUMBERS)
        elif kind == 5:
            lines[at] = replaced(draw, lines[at], r"\b[a-z_]+\w*\b", WORDS)
        elif kind == 6:
            names = re.findall(r"%[^\s,:]+", "\n".join(lines[max(0, at - 30):at]))
            lines[at] = replaced(draw, lines[at], r"%[^\s,:]+", names or ["%none"])
        else:
            lines[at:at + 1] = draw.choice([[], [lines[at]] * 2, [lines[at], draw.choice(lines)]])
    return "\n".join(lines)


class EditedGraphTest(StepcTest):
    def test_an_edited_graph_runs_or_is_refused(self):
        self.succeeds("compile", *TINY, "--dim", "batch=2", "--target", "interpreter", "--weights", "random", "--optimizer",
                      "sgd", "-q", "-o", "step")
        graph = self.folder / "step/graph.ir"
        text = graph.read_text()
        # Kernels are described and printed, but with a compiler that does not exist they are not compiled.
        targets = [["--target", "interpreter"], ["--target", "cpu"], ["--target", "simt"]]
        accepted = 0
        for seed in range(ROUNDS):
            draw = random.Random(seed)
            graph.write_text(edited(draw, text))
            done = self.stepc("run", "step", "-q", *targets[seed % 3], CXX="absent-compiler",
                              STEPC_CACHE_DIR=str(self.folder / "cache"))
            with self.subTest(seed=seed):
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertRegex(done.stderr, r"\A\Z" if done.returncode == 0 else r"\Astepc: error: [^\n]*\n\Z")
            accepted += done.returncode == 0 or "absent-compiler" in done.stderr
        self.assertGreater(accepted, ROUNDS // 4, "most edits are refused before they reach a kernel")

    def test_a_mask_behind_a_long_chain_is_not_followed(self):
        """Nothing recurses along a file's nodes."""
        chain = [f"%m{i + 1}: bool[8,8] = logical_not %m{i}" for i in range(100_000)]
        (self.folder / "chain.ir").write_text("\n".join([
            "graph @g {", *(f'%{name}: f32[1,1,8,4] = input data "{name}"' for name in "qkv"),
            "%i: i64[1,8] = iota {dtype=i64, shape=[1,8], axis=1}", "%j: i64[8,1] = iota {dtype=i64, shape=[8,1], axis=0}",
            "%d: i64[8,8] = sub %i, %j", "%z: i64[] = constant {data=[0]}", "%m0: bool[8,8] = less_equal %d, %z", *chain,
            '%s: f32[1,1,8,8] = contraction %q, %k {spec="bhsd,bhtd->bhst"}', "%n: f32[] = constant {data=[-inf]}",
            "%x: f32[1,1,8,8] = select %m100000, %s, %n", "%p: f32[1,1,8,8] = softmax %x {axis=3, zero_dead_rows=false}",
            '%o: f32[1,1,8,4] = contraction %p, %v {spec="bhst,bhtd->bhsd"}', 'output output "o" %o', "}"]))
        done = self.stepc("opt", "chain.ir", "--passes", "raise-composites", "-o", "raised.ir")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
