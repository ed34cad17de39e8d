"""Checks and measures stepc on a machine with a GPU: python3 tools/gpu_check [--budget 420] [--out DIR].

Goldens on the GPU beside PyTorch's and the interpreter's results, steps of three models in f32 and bf16 beside PyTorch, and
compute-sanitizer, in this order until the budget is spent; then one JSON and one Markdown file. Needs Python 3.10; PyTorch
and compute-sanitizer where they are there. No network. Exit status 1 where something failed, 0 where nothing did, also if
everything had to be skipped (docs/gpu_check.md).
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import sys
import tempfile
import time

import items
import models
import process
import tables

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAST_SECONDS = 5  # an item with less is not begun


def parse_arguments():
    parser = argparse.ArgumentParser(prog="gpu_check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = [path for path in (ROOT / "bin" / "stepc", ROOT / "build" / "release" / "bin" / "stepc") if path.is_file()]
    parser.add_argument("--stepc", default=os.environ.get("STEPC") or (str(here[0]) if here else "stepc"), help="the program")
    parser.add_argument("--target", default="cuda", help="cuda, or simt, cpu or interpreter to try this script without a GPU")
    parser.add_argument("--scale", choices=sorted(models.SCALES), default="full", help="tiny: to try this script")
    parser.add_argument("--budget", type=float, default=420, help="seconds in all")
    parser.add_argument("--models", default=str(ROOT / "tests" / "data" / "models"), help="folder of goldens")
    parser.add_argument("--torch-python", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--only", default="", help="regular expression over the names of items")
    parser.add_argument("--out", default="out/gpu_check", help="folder for gpu_check.json and gpu_check.md")
    parser.add_argument("--list", action="store_true", help="print the items and their limits")
    return parser.parse_args()


def perform(item, left):
    limit = min(item.limit, left)
    row = {"name": item.name, "kind": item.kind, "status": "passed", "reason": "", "seconds": 0, "figures": {}}
    begin = time.monotonic()
    try:
        row["figures"] = item.action(limit)
        row["reason"] = row["figures"].pop("missing", "")
    except items.Skip as why:
        row.update(status="skipped", reason=str(why))
    except Exception as why:  # whatever one item meets, the others go on
        row.update(status="failed", reason=str(why) if isinstance(why, items.Failure) else f"{type(why).__name__}: {why}")
    row["seconds"] = time.monotonic() - begin
    if row["status"] == "failed" and limit < item.limit and row["seconds"] >= limit:
        row.update(status="skipped", reason=f"the budget ended after {limit:.0f} s of it")
    return row


def write(results, out):
    out.mkdir(parents=True, exist_ok=True)
    (out / "gpu_check.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "gpu_check.md").write_text(tables.markdown(results) + "\n")


def machine_of(stepc):
    finished = process.run([stepc, "doctor", "--json", "-"], 30)
    return json.loads(finished.output) if finished.output.startswith("{") else {"error": finished.reason()}


def why_nothing(machine, target):
    """Why no item can run, or an empty text."""
    if "error" in machine:
        return f"stepc does not run: {machine['error']}"
    return machine["gpu"].get("error", "") if target == "cuda" else ""


def main():
    arguments = parse_arguments()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        chosen = [item for item in items.Items(arguments, models.SCALES[arguments.scale], pathlib.Path(scratch)).all()
                  if re.search(arguments.only, item.name)]
        if arguments.list:
            print("\n".join(f"{item.limit:4.0f} s  {item.name}" for item in chosen))
            return 0
        machine = machine_of(arguments.stepc)
        nothing = why_nothing(machine, arguments.target)
        if nothing:
            print(f"gpu_check: {nothing}", flush=True)
        results = {"schema": "stepc-gpu-check/1", "started": datetime.datetime.now().isoformat(timespec="seconds"),
                   "target": arguments.target, "scale": arguments.scale, "budget_s": arguments.budget, "seconds": 0,
                   "machine": machine, "items": []}
        for item in chosen:
            left = arguments.budget - (time.monotonic() - begin)
            skip = nothing or (f"{max(left, 0):.0f} s left of {arguments.budget:.0f} s" if left < LEAST_SECONDS else "")
            if skip:
                row = {"name": item.name, "kind": item.kind, "status": "skipped", "reason": skip, "seconds": 0, "figures": {}}
            else:
                row = perform(item, left)
            results["items"].append(row)
            results["seconds"] = time.monotonic() - begin
            write(results, pathlib.Path(arguments.out))  # after each item, so that an end from outside loses one at most
            if not nothing:
                print(f"{row['status']:7} {row['seconds']:6.1f} s  {row['name']}  {row['reason']}".rstrip(), flush=True)
    counts = {status: sum(row["status"] == status for row in results["items"]) for status in ("passed", "failed", "skipped")}
    print(f"{', '.join(f'{n} {status}' for status, n in counts.items())}; {arguments.out}/gpu_check.json, gpu_check.md")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
