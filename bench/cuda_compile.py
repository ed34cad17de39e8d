#!/usr/bin/env python3
"""The time to compile a training step for a GPU: cold with an empty cache, warm with the cache that it filled.

gpt2 124M (12 layers) by NVRTC, needing no GPU: with the contractions that cuBLASLt takes left to it, as a run on a GPU does, and
with all of them generated. Prints wall and CPU seconds of the whole process.

  cuda_compile.py --stepc build/release/bin/stepc --architecture sm_90 --repeats 3
"""
import argparse
import json
import os
import resource
import subprocess
import tempfile
import time


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def compile_step(args, contractions, cache):
    """One compile; its wall and CPU seconds, and its report."""
    report = os.path.join(cache, "report.json")
    command = [args.stepc, "compile", "gpt2-124m", "--dim", "batch=2", "--target", f"cuda:{args.architecture}",
               "--contractions", contractions, "-q", "--json", report]
    start, spent = time.perf_counter(), cpu_of_children()
    subprocess.run(command, check=True, env=dict(os.environ, STEPC_CACHE_DIR=cache))
    wall, cpu = time.perf_counter() - start, cpu_of_children() - spent
    with open(report) as file:
        return wall, cpu, json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stepc", default="build/release/bin/stepc")
    parser.add_argument("--architecture", default="sm_90")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    for contractions in ("library", "generated"):
        runs = {"cold": [], "warm": []}
        for _ in range(args.repeats):
            with tempfile.TemporaryDirectory() as cache:
                for rows in runs.values():
                    rows.append(compile_step(args, contractions, cache))
        report = runs["cold"][0][2]
        stages = {stage["symbol"]: stage for row in report["kernels"] for stage in row["code"] or []}
        print(f"contractions {contractions}: {len(stages)} functions, "
              f"{sum(stage['spill_bytes'] > 0 for stage in stages.values())} of them spill")
        for name, rows in runs.items():
            walls, cpus, _ = zip(*rows)
            print(f"  {name}: min {min(walls):.2f} s, max {max(walls):.2f} s, CPU min {min(cpus):.2f} s")


main()
