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
NODE = re.compile(r"^( +)(%\S+): (f32|f64)\[([0-9,]+)\] = (\w+) (.*)$")


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
        for seed in range(ROUNDS):
            draw = random.Random(seed)
            graph.write_text(edited(draw, text))
            done = self.stepc("run", "step", "-q", *targets[seed % 3], CXX="absent-compiler",
                              STEPC_CACHE_DIR=str(self.folder / "cache"))
            with self.subTest(seed=seed):
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertRegex(done.stderr, r"\A(stepc: error: [^\n]*\n)?\Z")


if __name__ == "__main__":
    unittest.main()
