#!/usr/bin/env python3
"""How the time to compile grows with the number of layers.

Compiles llama shapes without weights (`stepc compile --plan-only`) at several depths and prints, for each depth, the time
of all passes together (minimum and median of the repeats), the time per layer, and for each pass its time and how it
grew against the first depth: growth equal to the ratio of the depths is linear. Repeats are interleaved over the depths, so
that a busy spell of the machine hits all of them; the CPU time of the process (compilers that it starts included) says what
a quiet machine would need.

Then the whole compile, kernels included, of one depth: cold with an empty cache, warm with the cache that it filled.

  compile_scaling.py --stepc build/release/bin/stepc --layers 12 24 48 96 --repeats 3 --whole 12
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time

SHAPE = ("--family llama --dim 1024 --heads 16 --ffn 4096 --vocab 32000 --seq 512 --dim batch=1 --weights none").split()


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def compile_step(stepc, layers, folder, extra=(), cache=None):
    """Runs one compile; returns its report, and the wall and CPU seconds of its process tree."""
    report = os.path.join(folder, "report.json")
    env = dict(os.environ, STEPC_CACHE_DIR=cache or os.path.join(folder, "cache"))
    command = [stepc, "compile", "--layers", str(layers), *SHAPE, *extra, "-q", "--json", report]
    start, spent = time.perf_counter(), cpu_of_children()
    subprocess.run(command, check=True, env=env)
    wall, cpu = time.perf_counter() - start, cpu_of_children() - spent
    with open(report) as file:
        return json.load(file), wall, cpu


def pass_times(report):
    """Milliseconds by pass; a pass that runs several times counts as one."""
    times = {}
    for row in report["passes"]:
        times[row["name"]] = times.get(row["name"], 0.0) + row["wall_us"] / 1e3
    return times


def measure_passes(args, folder):
    runs = {layers: [] for layers in args.layers}
    for _ in range(args.repeats):
        for layers in args.layers:
            report, wall, cpu = compile_step(args.stepc, layers, folder, ["--plan-only"])
            runs[layers].append((pass_times(report), wall, cpu))
    return runs


def print_passes(runs):
    first = min(runs)
    print(f"{'layers':>6} {'passes min ms':>14} {'median ms':>10} {'min/layer ms':>13} {'growth':>7} {'depth':>6} "
          f"{'process min s':>14} {'CPU min s':>10}")
    totals = {layers: [sum(times.values()) for times, _, _ in rows] for layers, rows in runs.items()}
    for layers, rows in runs.items():
        low = min(totals[layers])
        print(f"{layers:>6} {low:>14.1f} {statistics.median(totals[layers]):>10.1f} {low / layers:>13.2f} "
              f"{low / min(totals[first]):>6.2f}x {layers / first:>5.1f}x "
              f"{min(wall for _, wall, _ in rows):>14.2f} {min(cpu for _, _, cpu in rows):>10.2f}")
    print()
    least = {layers: {name: min(times[name] for times, _, _ in rows) for name in rows[0][0]} for layers, rows in runs.items()}
    print(f"{'pass (min ms, growth)':<22}" + "".join(f"{layers:>19}" for layers in runs))
    for name in least[first]:
        cells = [f"{least[k][name]:>10.2f} {least[k][name] / max(least[first][name], 1e-3):>7.2f}x" for k in runs]
        print(f"{name:<22}" + "".join(cells))


def measure_whole(args, folder):
    cold, warm = [], []
    for _ in range(args.repeats):
        with tempfile.TemporaryDirectory(dir=folder) as cache:
            for rows in (cold, warm):
                out = os.path.join(cache, "out")
                rows.append(compile_step(args.stepc, args.whole, folder, ["-o", out], cache)[1:])
    print(f"\nwhole compile of {args.whole} layers, kernels included")
    for name, rows in (("cold", cold), ("warm", warm)):
        walls, cpus = zip(*rows)
        print(f"  {name}: min {min(walls):.2f} s, median {statistics.median(walls):.2f} s, CPU min {min(cpus):.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stepc", default="build/release/bin/stepc")
    parser.add_argument("--layers", type=int, nargs="+", default=[12, 24, 48, 96])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--whole", type=int, default=12, help="layers of the compile with kernels; 0 leaves it out")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print_passes(measure_passes(args, folder))
        if args.whole:
            measure_whole(args, folder)


if __name__ == "__main__":
    main()
