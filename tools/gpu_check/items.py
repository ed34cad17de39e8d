"""What is checked and measured, each item with its limit in seconds, in the order of what matters most."""

import functools
import json
import os
import pathlib
import re
import shutil
import struct
import sys
import time
import zipfile
from dataclasses import dataclass
from typing import Callable

import process

HERE = pathlib.Path(__file__).resolve().parent
GOLDENS = ("gpt2_dynamo", "llama_dynamo", "bert_legacy_op11", "vit_legacy", "mixtral_dynamo")
TRAINED, TRAINED_RUN = "llama_dynamo", "adamw_clip"  # for 20 steps
SANITIZED = GOLDENS[:3]
PRECISIONS = ("fp32", "bf16")
KERNELS_KEPT = 8  # of a profile, the longest ones


class Skip(Exception):
    """The item cannot be had here, and why."""


class Failure(Exception):
    """What the item found wrong."""


@dataclass
class Item:
    name: str
    kind: str  # golden, parity, profile, torch, sanitizer
    limit: float
    action: Callable[[float], dict]  # gets the limit, gives figures; raises Skip or Failure


def ended_well(finished):
    if finished.status != 0:
        raise Failure(finished.reason())
    return finished


class Items:
    def __init__(self, arguments, scale, folder):
        self.stepc, self.target, self.torch_python = arguments.stepc, arguments.target, arguments.torch_python
        self.models = pathlib.Path(arguments.models)
        self.scale, self.folder = scale, folder
        self.torch_missing = None  # why there is no PyTorch, once it was tried; empty: there is

    def all(self):
        items = [self.golden(model, self.target, 45) for model in GOLDENS]
        items.append(Item("parity", "parity", 60, self.same_loss))
        for precision in PRECISIONS:
            for seq in self.scale.sequences:
                items += [self.profile(model, precision, seq) for model in self.scale.models]
        items += [self.torch(model, False, 60) for model in self.scale.models]
        items += [self.sanitizer(model) for model in SANITIZED]
        items += [self.torch(model, True, 90) for model in self.scale.models]
        if self.target != "cpu":
            items += [self.golden(model, "cpu", 45) for model in GOLDENS]
        return items

    # stepc's results beside PyTorch's and the interpreter's, and two runs bitwise.
    def golden(self, model, target, limit):
        return Item(f"golden {model} on {target}", "golden", limit, functools.partial(self.check_golden, model, target))

    def check_golden(self, model, target, limit):
        command = [sys.executable, str(HERE.parents[1] / "tests" / "golden" / "check_folder.py"), str(self.models), "--stepc",
                   self.stepc, "--target", target, "--only", f"^{model}$"]
        if model == TRAINED:
            command += ["--trajectories", f"^{model}$", "--runs", f"^{TRAINED_RUN}"]
        finished = process.run(command, limit)
        if finished.status is None:
            raise Failure(finished.reason())
        lines = finished.output.splitlines()
        if target == "cpu" and "no C++ compiler" in finished.output:
            raise Skip("no C++ compiler here")
        failed = [line for line in lines if line.startswith("FAIL")]
        if failed or finished.status != 0:
            raise Failure(failed[0][:300] if failed else finished.reason())
        wanted = [model, TRAINED_RUN] if model == TRAINED else [model]
        missing = [name for name in wanted if not any(name in line for line in lines[:-1])]
        if missing:
            raise Failure(f"nothing was compared for {', '.join(missing)}: {lines[-1] if lines else 'no output'}")
        return {"result": lines[-1], "checks": lines[:-1]}

    # PyTorch's model is the zoo's: the same weights give the same loss.
    def same_loss(self, limit):
        deadline = time.monotonic() + limit
        self.require_torch(limit)
        seq = min(64, self.scale.sequences[0])
        differences = {}
        for family, tied in (("gpt2", True), ("llama", False)):
            small = type(self.scale.models[0])(f"{family}-small", family, 2, 32, 2, 64, 256, tied)
            data, weights, report = (str(self.folder / f"{family}.{end}") for end in ("data.npz", "weights.npz", "json"))
            write_tokens(data, 2, seq, small.vocab)
            ended_well(process.run([self.stepc, "run", *small.stepc_arguments(seq, 2), "--data", data, "--optimizer", "none", "-q",
                                    "--target", self.target, "--dump-weights", weights, "--json", report], deadline - time.monotonic()))
            finished = ended_well(process.run([self.torch_python, str(HERE / "torch_step.py"), *small.torch_arguments(), "--data",
                                               data, "--weights", weights], deadline - time.monotonic()))
            ours, theirs = json.loads(pathlib.Path(report).read_text()), json.loads(finished.output)
            if ours["model"]["parameters"] != theirs["parameters"]:
                raise Failure(f"{family}: {ours['model']['parameters']} parameters, PyTorch {theirs['parameters']}")
            differences[family] = abs(ours["losses"][0] - theirs["loss"]) / theirs["loss"]
            if differences[family] > 1e-5:
                raise Failure(f"{family}: loss {ours['losses'][0]}, PyTorch {theirs['loss']}")
        return {"relative_difference": differences}

    def profile(self, model, precision, seq):
        return Item(f"stepc {model.name} {precision} seq {seq}", "profile", self.scale.limit,
                    functools.partial(self.run_profile, model, precision, seq))

    def run_profile(self, model, precision, seq, limit):
        batch, report = self.scale.batch(seq), self.folder / "profile.json"
        command = [self.stepc, "run", *model.stepc_arguments(seq, batch), "--target", self.target, "--steps", str(self.scale.steps),
                   "--warmup", str(self.scale.warmup), "-q", "--json", str(report)]
        if precision != "fp32":
            command += ["--precision", precision]
        finished = process.run(command, limit)
        if finished.status in (1, 2) and precision != "fp32" and "--precision" in finished.errors:
            raise Skip(finished.errors.strip().splitlines()[-1][:300])
        ended_well(finished)
        figures = json.loads(report.read_text())
        kernels = sorted(figures["kernels"], key=lambda k: -(k["measured_us"] or 0))
        return {"model": model.name, "precision": precision, "seq": seq, "batch": batch, "parameters": figures["model"]["parameters"],
                "step": figures["step"], "memory": {k: figures["memory"][k] for k in ("peak", "persistent", "arena")},
                "flops": figures["flops"], "losses": figures["losses"],
                "kernels": [{key: k[key] for key in ("name", "kind", "phase", "count", "measured_us", "flops", "mfu", "mbu")}
                            for k in kernels[:KERNELS_KEPT]]}

    def torch(self, model, compiled, limit):
        name = f"torch {model.name} {'compile' if compiled else 'eager'}"
        return Item(name, "torch", limit, functools.partial(self.run_torch, model, compiled))

    def run_torch(self, model, compiled, limit):
        deadline = time.monotonic() + limit
        self.require_torch(limit)
        pairs = [(s, p) for p in PRECISIONS for s in self.scale.sequences]
        if compiled:
            pairs = [(self.scale.sequences[0], "bf16")]
        command = [self.torch_python, str(HERE / "torch_step.py"), *model.torch_arguments(), "--steps", str(self.scale.steps),
                   "--warmup", str(self.scale.warmup), "--device", "cuda" if self.target == "cuda" else "cpu"]
        command += ["--compile"] if compiled else []
        for seq, precision in pairs:
            command += ["--shape", f"{seq},{self.scale.batch(seq)},{precision}"]
        finished = process.run(command, deadline - time.monotonic())
        rows = [dict(json.loads(line), model=model.name) for line in finished.output.splitlines() if line.startswith("{")]
        if not rows:
            raise Failure(finished.reason())
        missing = "" if len(rows) == len(pairs) else f"{len(pairs) - len(rows)} of {len(pairs)} shapes: {finished.reason()}"
        return {"rows": rows, "missing": missing}

    def require_torch(self, limit):
        if self.torch_missing is None:
            finished = process.run([self.torch_python, "-c", "import torch, numpy"], limit)
            self.torch_missing = "" if finished.status == 0 else f"no PyTorch with NumPy: {finished.reason()}"
        if self.torch_missing:
            raise Skip(self.torch_missing)

    def sanitizer(self, model):
        return Item(f"sanitizer {model}", "sanitizer", 60, functools.partial(self.run_sanitizer, model))

    def run_sanitizer(self, model, limit):
        if self.target != "cuda":
            raise Skip(f"compute-sanitizer sees target cuda alone, not {self.target}")
        tool = find_sanitizer()
        family = model.split("_")[0]
        finished = ended_well(process.run(
            [tool, "--tool", "memcheck", "--target-processes", "all", "--error-exitcode", "9", self.stepc, "check",
             str(self.models / f"{model}.onnx"), "--golden", str(self.models / f"{family}_golden.npz"), "--param-map",
             str(self.models / "param_map.json"), "--target", "cuda"], limit))
        summary = [line for line in (finished.output + finished.errors).splitlines() if "ERROR SUMMARY" in line]
        if not summary:
            raise Failure("compute-sanitizer gave no summary")
        return {"summary": summary[-1].strip("= ")}


def find_sanitizer():
    found = shutil.which("compute-sanitizer")
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    places = [pathlib.Path(home) / "bin" / "compute-sanitizer" for home in homes if home]
    found = found or next((str(place) for place in places if place.is_file()), None)
    if not found:
        raise Skip("compute-sanitizer is not installed")
    return found


def write_tokens(path, batch, seq, vocab):
    """input_ids and label, int64 [batch, seq], each token's label the next one, as .npz without NumPy."""
    stream = [(7919 * i * i + 31 * i) % vocab for i in range(batch * (seq + 1))]
    rows = [stream[i * (seq + 1):(i + 1) * (seq + 1)] for i in range(batch)]
    arrays = {"input_ids": [t for row in rows for t in row[:-1]], "label": [t for row in rows for t in row[1:]]}
    with zipfile.ZipFile(path, "w") as archive:
        for name, values in arrays.items():
            header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({batch}, {seq}), }}".encode()
            header += b" " * (-(len(header) + 11) % 64) + b"\n"
            content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}q", *values)
            archive.writestr(name + ".npy", content)
