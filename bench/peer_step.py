#!/usr/bin/env python3
"""One training step of gpt2 124M (f32, AdamW) beside PyTorch on the same work, interleaved.

Every round runs PyTorch, then stepc, each in its own process, for some warm-up and some timed steps; times of one round
compare because they saw the same machine. Prints minimum and median step time over all rounds, peak memory above the
weights, and the ratios stepc / PyTorch.

Memory. stepc: the planned peak (persistent blocks and arena) minus the weights, and the measured peak of `run -v`, the high-water
mark of the poisoned arena and what libraries took, by the same rule. PyTorch: the peak resident set above its size after the
weights exist, as its script reports it.

--peer names a script that takes --family --layers --dim --heads --vocab --batch --seq --steps --threads --mode and prints one
JSON line with step_ms, min_ms and peak_rss_mib; --python is an interpreter that has torch.

  peer_step.py --stepc build/release/bin/stepc --peer PATH/torch_step.py --python VENV/bin/python --rounds 3
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

MIB = 2**20


def run_peer(args):
    command = [args.python, args.peer, "--family", "gpt2", "--layers", "12", "--dim", "768", "--heads", "12", "--vocab", "50257",
               "--batch", str(args.batch), "--seq", str(args.seq), "--steps", str(args.steps), "--threads", str(args.threads), "--mode", args.mode]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    row = json.loads(output.strip().splitlines()[-1])
    return {"min": row["min_ms"], "median": row["step_ms"], "peak": row["peak_rss_mib"], "version": row.get("version", "")}


def run_stepc(args, folder):
    path = os.path.join(folder, "report.json")
    command = [args.stepc, "run", "gpt2-124m", "--seq", str(args.seq), "--dim", f"batch={args.batch}", "--threads", str(args.threads),
               "--steps", str(args.steps), "--warmup", "1", "-v", "--progress", "off", "--json", path]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open(path) as file:
        report = json.load(file)
    memory, step = report["memory"], report["step"]["measured_us"]
    above = lambda peak: None if peak is None else (peak - memory["weights"]) / MIB
    return {"min": step["min"] / 1e3, "median": step["median"] / 1e3, "peak": above(memory["peak"]),
            "measured": above(memory["measured_peak"])}


def print_rounds(rounds):
    print(f"{'round':>5} {'torch min ms':>13} {'median':>8} {'stepc min ms':>13} {'median':>8} {'ratio min':>10} {'median':>7}")
    for index, (torch, ours) in enumerate(rounds, 1):
        print(f"{index:>5} {torch['min']:>13.0f} {torch['median']:>8.0f} {ours['min']:>13.0f} {ours['median']:>8.0f} "
              f"{ours['min'] / torch['min']:>10.2f} {ours['median'] / torch['median']:>7.2f}")


def print_summary(rounds):
    peers, ours = zip(*rounds)
    low = [min(row["min"] for row in rows) for rows in (peers, ours)]
    middle = [statistics.median(row["median"] for row in rows) for rows in (peers, ours)]
    peak = [max(row["peak"] for row in rows) for rows in (peers, ours)]
    print(f"\nall rounds: min {low[0]:.0f} / {low[1]:.0f} ms, ratio {low[1] / low[0]:.2f}; "
          f"median {middle[0]:.0f} / {middle[1]:.0f} ms, ratio {middle[1] / middle[0]:.2f}  (torch / stepc)")
    measured = ours[-1]["measured"]
    said = "not measured" if measured is None else f"{measured:.0f} MiB measured"
    print(f"peak above the weights: torch {peers[-1]['version']} {peak[0]:.0f} MiB; stepc {peak[1]:.0f} MiB planned, {said}; "
          f"ratio {peak[1] / peak[0]:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stepc", default="build/release/bin/stepc")
    parser.add_argument("--peer", required=True, help="the PyTorch script")
    parser.add_argument("--python", default="python3", help="an interpreter that has torch")
    parser.add_argument("--mode", choices=["eager", "compile"], default="eager")
    for name, default in dict(batch=2, seq=256, threads=2, steps=5, rounds=3).items():
        parser.add_argument("--" + name, type=int, default=default)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rounds = [(run_peer(args), run_stepc(args, folder)) for _ in range(args.rounds)]
    print_rounds(rounds)
    print_summary(rounds)


if __name__ == "__main__":
    main()
