#!/usr/bin/env python3
"""One training step (f32, AdamW) at each fusion level, interleaved: planned and measured peak, saved bytes, traffic, step time.

Every round runs all variants, each in its own process, with one warm-up step and some timed ones. The plan's figures are
those of the last round; times are minimum and median over the timed steps of all rounds, by each run's own summary.

  fusion_levels.py --stepc build/release/bin/stepc gpt2-124m:256 llama-100m:512 --rounds 2 --variants off,pointwise,full
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

GIB, MIB = 2**30, 2**20


def run(args, model, seq, variant, path):
    command = [args.stepc, "run", model, "--seq", seq, "--dim", f"batch={args.batch}", "--threads", str(args.threads), "--weights",
               "random", "--steps", str(args.steps), "--warmup", "1", "--fuse", *variant.split("+"), "-v", "--progress", "off",
               "--json", path]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open(path) as file:
        return json.load(file)


def print_row(model, variant, reports):
    last = reports[-1]
    times = [report["step"]["measured_us"] for report in reports]
    memory, passes = last["memory"], last["passes"][-1]
    launches = sum(row["count"] for row in last["kernels"])
    fixed = memory["fixed"] or 0
    print(f"| {model} | `{variant}` | {launches} | {passes['traffic_bytes'] / GIB:.2f} GiB | {passes['saved_bytes'] / MIB:.2f} MiB | "
          f"{memory['peak'] / MIB:.0f} MiB | {(memory['measured_peak'] - fixed) / MIB:.0f} MiB | {fixed / MIB:.0f} MiB | "
          f"{min(t['min'] for t in times) / 1e3:.0f} ms | {statistics.median(t['median'] for t in times) / 1e3:.0f} ms |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="zoo name:sequence length")
    parser.add_argument("--stepc", default="build/release/bin/stepc")
    parser.add_argument("--variants", default="off,pointwise,full", help="levels, each with further options after +")
    for name, default in dict(batch=2, threads=2, steps=3, rounds=2).items():
        parser.add_argument("--" + name, type=int, default=default)
    args = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.rounds):
            for model in args.models:
                for variant in args.variants.split(","):
                    name, seq = model.split(":")
                    report = run(args, name, seq, variant, os.path.join(folder, "report.json"))
                    results.setdefault((model, variant), []).append(report)
    print("| model | level | launches | traffic | saved, new | planned peak | measured | fixed part | step, min | median |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (model, variant), reports in results.items():
        print_row(model, variant, reports)


if __name__ == "__main__":
    main()
