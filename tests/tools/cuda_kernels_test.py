"""Every kernel of whole steps compiles for every architecture, and no f32 kernel spills: what NVRTC's assembler says.

cuda_kernels_test.py          a selection that fits CI
cuda_kernels_test.py --all    all models and architectures, cold some ten minutes on two cores
"""

import itertools
import json
import pathlib
import re
import subprocess
import sys

from stepc_test import STEPC

MODELS = pathlib.Path(__file__).parent.parent / "data/models"
ARCHITECTURES = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
FAMILIES = ["gpt2_dynamo", "llama_dynamo", "bert_legacy_op11", "vit_legacy", "mixtral_dynamo"]
LOSSES = {"vit_legacy": ["--loss", "mean-square", "--logits", "last_hidden_state"]}  # the others have logits
SKIPPED = 77  # what ctest takes for it
SELECTION = [("llama_dynamo", "sm_80"), ("vit_legacy", "sm_120")]


def stepc(*arguments):
    return subprocess.run([STEPC, *arguments], capture_output=True, text=True)


def dims(model):
    """Sizes for the model's symbolic dimensions, which the program names where one is missing."""
    found = re.search(r"without a size: ([^;]*);", stepc("inspect", model, "--json", "-").stderr)
    names = found.group(1).split(", ") if found else []
    return list(itertools.chain.from_iterable(["--dim", f"{name}=16"] for name in names))


def findings(name, architecture):
    """What is wrong with the kernels of one step, and how many there are."""
    model = str(MODELS / f"{name}.onnx")
    done = stepc("compile", model, *dims(model), *LOSSES.get(name, []), "--target", f"cuda:{architecture}", "--contractions", "generated",
                 "--optimizer", "adamw", "--clip-norm", "1", "--json", "-")
    if done.returncode != 0:
        return [f"{name} {architecture}: {done.stderr.strip()}"], 0
    stages = {stage["symbol"]: stage for row in json.loads(done.stdout)["kernels"] for stage in row["code"] or []}
    return [f"{name} {architecture}: {symbol} spills {stage['spill_bytes']} bytes with {stage['registers']} registers"
            for symbol, stage in stages.items() if stage["spill_bytes"] != 0], len(stages)


def main():
    doctor = json.loads(stepc("doctor", "--json", "-").stdout)
    if "error" in doctor["nvrtc"]:
        print(f"skipped: {doctor['nvrtc']['error']}")
        return SKIPPED
    pairs = itertools.product(FAMILIES, ARCHITECTURES) if "--all" in sys.argv[1:] else SELECTION
    failed = False
    for name, architecture in pairs:
        wrong, count = findings(name, architecture)
        print(f"{name} {architecture}: {count} functions, {len(wrong)} findings", *wrong, sep="\n  ", flush=True)
        failed |= bool(wrong) or count == 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
