#!/usr/bin/env python3
"""Checks every model of a folder of real exports against what PyTorch computed for it.

    check_folder.py DIR [--stepc PROGRAM] [--only REGEX] [--trajectories REGEX] [--fuse LEVEL]
                    [--target NAME] [--precision NAME] [--runs REGEX]

DIR holds FAMILY_EXPORTER[_VARIANT].onnx, FAMILY_golden.npz (loss, outputs, gradients), FAMILY_trajectory.npz (20 steps
of AdamW and SGD, clipped and not) and param_map.json (which initializer holds which parameter). Each model goes through
`stepc check --golden` (interpreter and CPU), which may leave out no gradient that the file has and the model can give;
where its family has a trajectory, through `stepc run` four times, losses and gradient norms within 1e-4 relative, final
weights by the rule of the goldens. Files that must be refused are listed in REFUSED with a part of the message. Prints one line a check and `N passed, N failed`. Needs the standard library only.
"""
import argparse
import ast
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

REFUSED = {
    "x_handsdpa_wrong_opset_decl": "opset",
}
# Models that hold com.microsoft operators or a condition that the graph computes: they work, or are refused by name.
MAY_BE_REFUSED = {"x_hand_if", "x_bert_dynamo_ortopt", "x_bert_legacy_ortopt", "x_gpt2_legacy_ortopt",
                  "x_llama_dynamo_ortopt", "x_llama_legacy_ortopt"}
RUNS = {
    "adamw": ["--optimizer", "adamw:lr=1e-3,beta1=0.9,beta2=0.999,eps=1e-8,weight_decay=0.01"],
    "adamw_clip0.5": ["--optimizer", "adamw:lr=1e-3,beta1=0.9,beta2=0.999,eps=1e-8,weight_decay=0.01",
                      "--clip-norm", "0.5"],
    "sgd": ["--optimizer", "sgd:lr=0.05,momentum=0.9"],
    "sgd_clip0.5": ["--optimizer", "sgd:lr=0.05,momentum=0.9", "--clip-norm", "0.5"],
}
KEY_BIAS = re.compile(r"(k_proj|key)\.bias$")  # their gradients are rounding noise: a softmax ignores a shift


def load_npz(path):
    """Arrays by name as (shape, list of numbers); NumPy is not needed for float32 and int64."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            length = struct.unpack_from("<H", data, 8)[0]
            header = ast.literal_eval(data[10:10 + length].decode("latin1").strip())
            code = {"<f4": "f", "<f8": "d", "<i8": "q"}.get(header["descr"])
            if code is None:
                continue
            count = math.prod(header["shape"])
            values = struct.unpack_from(f"<{count}{code}", data, 10 + length)
            arrays[name[:-4]] = (header["shape"], values)
    return arrays


def relative_difference(actual, expected):
    if len(actual) != len(expected):
        return math.inf
    return max((abs(a - e) / max(abs(e), 1e-12) for a, e in zip(actual, expected)), default=0.0)


def transpose(shape, values):
    rows, columns = shape
    return [values[i * columns + k] for k in range(columns) for i in range(rows)]


class Folder:
    def __init__(self, arguments):
        self.folder = arguments.dir
        self.stepc = arguments.stepc
        self.step_options = []
        for option in ["fuse", "target", "precision"]:
            if value := getattr(arguments, option):
                self.step_options += ["--" + option, value]
        self.target = arguments.target or "cpu"
        self.runs = {name: options for name, options in RUNS.items() if re.search(arguments.runs, name)}
        self.passed = self.failed = 0
        with open(os.path.join(self.folder, "param_map.json")) as file:
            self.param_map = json.load(file)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *command):
        options = [] if command[0] == "inspect" else self.step_options
        return subprocess.run([self.stepc, *command, *options], capture_output=True, text=True, timeout=600)

    def report(self, what, ok, detail=""):
        self.passed += ok
        self.failed += not ok
        print(f"{'ok  ' if ok else 'FAIL'} {what}{'  ' + detail if detail else ''}", flush=True)

    def golden_of(self, model):
        if os.path.exists(self.path(model + "_golden.npz")):
            return model + "_golden.npz"
        family = re.sub(r"^x_", "", model).split("_")[0]
        return family + "_golden.npz"

    def check(self, model):
        if model in REFUSED:
            result = self.run("inspect", self.path(model + ".onnx"))
            refused = result.returncode == 1 and REFUSED[model] in result.stderr and len(result.stderr.splitlines()) == 1
            return self.report(f"{model}: refused", refused, result.stderr.strip()[:200])
        with tempfile.TemporaryDirectory() as scratch:
            figures = os.path.join(scratch, "checks.json")
            result = self.run("check", self.path(model + ".onnx"), "--golden", self.path(self.golden_of(model)),
                              "--param-map", self.path("param_map.json"), "--json", figures)
            left_out = self.gradients_left_out(model, figures) if result.returncode == 0 else []
        message = (result.stdout + result.stderr).strip()
        last = message.splitlines()[-1] if message else ""
        if model in MAY_BE_REFUSED and result.returncode == 1 and result.stderr.startswith("stepc: error:"):
            self.report(f"{model}: refused by name", len(result.stderr.splitlines()) == 1, last[:200])
        elif left_out:
            self.report(f"{model}: golden", False, "not compared: " + ", ".join(left_out))
        else:
            detail = last if result.returncode == 0 else message[:1500]
            self.report(f"{model}: golden", result.returncode == 0, detail)

    def gradients_left_out(self, model, figures):
        """Parameters with a golden gradient that an initializer of the model holds, but whose gradient nobody compared."""
        with open(figures) as file:
            prefix = f"{self.target} and golden: grad/"
            compared = {row["what"].removeprefix(prefix) for row in json.load(file)["checks"] if row["what"].startswith(prefix)}
        held = {}
        for initializer, (parameter, relation, *_) in self.param_map.get(model, {}).get("map", {}).items():
            if relation != "-exp":
                held.setdefault(parameter, set()).add(initializer)
        golden = load_npz(self.path(self.golden_of(model)))
        return sorted(p for p, initializers in held.items() if "grad/" + p in golden and not initializers & compared)

    def trajectories(self, model):
        family = model.split("_")[0]
        missing = set(self.param_map.get(model, {}).get("missing", []))
        if not os.path.exists(self.path(family + "_trajectory.npz")):
            return
        golden = load_npz(self.path(family + "_golden.npz"))
        if any("grad/" + name in golden for name in missing):
            return
        trajectory = load_npz(self.path(family + "_trajectory.npz"))
        loss = [] if "label" in golden else ["--loss", "mean-square"]
        for run, options in self.runs.items():
            with tempfile.TemporaryDirectory() as scratch:
                weights = os.path.join(scratch, "weights.npz")
                report = os.path.join(scratch, "report.json")
                result = self.run("run", self.path(model + ".onnx"), "--data", self.path(family + "_golden.npz"),
                                  "--steps", "20", "-q", "--json", report, "--dump-weights", weights, *options, *loss)
                if result.returncode != 0:
                    self.report(f"{model}: {run}", False, result.stderr.strip()[:300])
                    continue
                with open(report) as file:
                    figures = json.load(file)
                differences = {"loss": relative_difference(figures["losses"], trajectory[run + "/loss"][1])}
                if run + "/grad_norm" in trajectory:
                    differences["grad_norm"] = relative_difference(figures["grad_norms"],
                                                                   trajectory[run + "/grad_norm"][1])
                ok = all(d <= 1e-4 for d in differences.values())
                detail = ", ".join(f"{k} {v:.1e}" for k, v in differences.items())
                if run == "adamw":
                    compared, wrong = self.wrong_weights(model, trajectory, load_npz(weights))
                    ok = ok and not wrong
                    detail += f"; {compared} final weights compared, {len(wrong)} differ" + "".join(f" {w}" for w in wrong[:3])
                self.report(f"{model}: {run}", ok, detail)

    def wrong_weights(self, model, trajectory, weights):
        """(how many were compared, the parameters that differ)."""
        compared, wrong = 0, []
        for initializer, (parameter, relation, *_) in self.param_map.get(model, {}).get("map", {}).items():
            expected = trajectory.get("adamw/final/" + parameter)
            actual = weights.get("param/" + initializer)
            if expected is None or actual is None or relation not in ("same", "T") or KEY_BIAS.search(parameter):
                continue
            compared += 1
            values = transpose(*expected) if relation == "T" else list(expected[1])
            pairs = list(zip(actual[1], values))
            if parameter.endswith("c_attn.bias"):  # gpt2: the middle third are the keys'
                third = len(pairs) // 3
                pairs = pairs[:third] + pairs[2 * third:]
            allowed = 1e-5 + 1e-4 * max(map(abs, values), default=0.0)
            if max((abs(a - e) for a, e in pairs), default=0.0) > allowed:
                wrong.append(parameter)
        return compared, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--fuse", help="fusion level instead of the default")
    parser.add_argument("--target", help="target instead of the default")
    parser.add_argument("--precision", help="bf16 or fp16: gradients then agree within 2e-2 or 4e-3 of the largest")
    parser.add_argument("--runs", default="", help="regular expression over the optimizer settings to train with")
    parser.add_argument("--stepc", default=os.environ.get("STEPC", "stepc"))
    parser.add_argument("--only", default="", help="regular expression over model names")
    parser.add_argument("--trajectories", default="", help="regular expression over the names of models to train")
    arguments = parser.parse_args()
    folder = Folder(arguments)
    for name in sorted(os.listdir(arguments.dir)):
        model, ending = os.path.splitext(name)
        if ending != ".onnx" or not re.search(arguments.only, model):
            continue
        folder.check(model)
        if re.search(arguments.trajectories, model) and not re.search("^x_|_(fp16|bf16)$", model):
            folder.trajectories(model)
    print(f"{folder.passed} passed, {folder.failed} failed")
    return 1 if folder.failed else 0


if __name__ == "__main__":
    sys.exit(main())
