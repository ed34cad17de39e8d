#!/usr/bin/env python3
"""Compares `stepc saved` with what PyTorch's saved-tensor hooks saw: check_saved.py DIR [--stepc PROGRAM].

DIR holds saved_listings.json, { model: [events] }, and MODEL.onnx. An event is a save (its number, shape, dtype, block and
bytes, and the name of the input that it is) or a load (its block); they must be equal line by line. Ends in
`N passed, N failed`. Needs the standard library only.
"""
import argparse
import itertools
import json
import os
import subprocess
import sys

OPTIONS = ["--stage", "eager", "--loss", "sum", "--optimizer", "none", "--grad-inputs", "*", "--json", "-"]


def events_of(stepc, model):
    result = subprocess.run([stepc, "saved", model, *OPTIONS], capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        return [{"error": result.stderr.strip()}]
    report = json.loads(result.stdout)
    saves = [{"event": "save", "n": row["index"], **{key: row[key] for key in ("shape", "dtype", "block", "bytes", "input")}}
             for row in report["saved"]]
    return saves + [{"event": "load", "block": block} for block in report["loads"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--stepc", default=os.environ.get("STEPC", "stepc"))
    arguments = parser.parse_args()
    with open(os.path.join(arguments.dir, "saved_listings.json")) as file:
        listings = json.load(file)
    failed = 0
    for model, expected in listings.items():
        actual = events_of(arguments.stepc, os.path.join(arguments.dir, model + ".onnx"))
        differ = [(e, a) for e, a in itertools.zip_longest(expected, actual) if e != a]
        failed += bool(differ)
        print(f"{'FAIL' if differ else 'ok  '} {model}: {len(expected)} events, {len(differ)} differ")
        for e, a in differ[:3]:
            print(f"  expected {json.dumps(e)}\n  found    {json.dumps(a)}")
    print(f"{len(listings) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
