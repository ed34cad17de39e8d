"""The results as Markdown."""

import json


def milliseconds(value):
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def gigabytes(value):
    return "" if value is None else f"{value / 1e9:.2f}"


def percent(value):
    return "" if value is None else f"{100 * value:.1f} %"


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows] + [""]


def skipped(items):
    by_reason = {}
    for item in items:
        if item["status"] == "skipped":
            by_reason.setdefault(item["reason"], []).append(item["name"])
    rows = [[reason, ", ".join(names)] for reason, names in by_reason.items()]
    return ["## Skipped", ""] + table(["why", "items"], rows) if rows else []


def steps(items):
    """stepc's profiles beside PyTorch's times, by model, precision and sequence length."""
    torch = {}
    for item in items:
        for row in item["figures"].get("rows", []) if item["kind"] == "torch" else []:
            torch[row["model"], row["precision"], row["seq"], row["mode"]] = row
    profiles = {(i["figures"]["model"], i["figures"]["precision"], i["figures"]["seq"]): i["figures"]
                for i in items if i["kind"] == "profile" and i["figures"]}
    rows = []
    for key in dict.fromkeys([*profiles, *(k[:3] for k in torch)]):
        ours, eager, compiled = profiles.get(key), torch.get((*key, "eager")), torch.get((*key, "compile"))
        any_of = ours or eager or compiled
        measured = ours["step"]["measured_us"]["median"] / 1e3 if ours else None
        ratio = f"{measured / eager['median_ms']:.2f}" if ours and eager else ""
        rows.append([key[0], key[1], key[2], any_of["batch"], milliseconds(measured),
                     milliseconds(eager and eager["median_ms"]), milliseconds(compiled and compiled["median_ms"]), ratio,
                     f"{ours['step']['tokens_per_s']:.0f}" if ours else "", percent(ours["step"]["mfu"]) if ours else "",
                     gigabytes(ours and ours["memory"]["peak"]), gigabytes(eager and eager["peak_bytes"])])
    heads = ["model", "precision", "seq", "batch", "stepc ms", "torch eager ms", "torch.compile ms", "stepc / eager", "tokens/s", "MFU",
             "stepc planned peak GB", "torch peak GB"]
    return ["## Steps", ""] + table(heads, rows) if rows else []


def kernels(items):
    lines = []
    for item in items:
        if item["kind"] != "profile" or not item["figures"]:
            continue
        rows = [[k["name"], k["kind"], k["phase"], k["count"], "" if k["measured_us"] is None else f"{k['measured_us']:.0f}",
                 percent(k["mfu"]), percent(k["mbu"])] for k in item["figures"]["kernels"]]
        lines += [f"### {item['name']}", ""] + table(["kernel", "kind", "phase", "count", "µs a step", "MFU", "MBU"], rows)
    return ["## Longest kernels", ""] + lines if lines else []


def markdown(results):
    items = results["items"]
    counts = {status: sum(item["status"] == status for item in items) for status in ("passed", "failed", "skipped")}
    gpu = results["machine"].get("gpu", {})
    lines = ["# GPU check", "", f"{results['started']}, target {results['target']}, {results['seconds']:.0f} s of {results['budget_s']:.0f} s: "
             + ", ".join(f"{n} {status}" for status, n in counts.items()), ""]
    lines += [f"GPU: {gpu.get('error') or json.dumps(gpu)}", f"NVRTC: {json.dumps(results['machine'].get('nvrtc', {}))}", ""]
    rows = [[i["name"], i["status"], f"{i['seconds']:.1f}", i["reason"] or i["figures"].get("result") or i["figures"].get("summary", "")]
            for i in items if i["status"] != "skipped"]
    lines += ["## Items", ""] + table(["item", "", "s", "what"], rows) if rows else []
    lines += skipped(items)
    return "\n".join(lines + steps(items) + kernels(items))
