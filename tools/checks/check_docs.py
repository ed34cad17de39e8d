"""The examples in README.md and docs/ are run: check_docs.py BIN_DIR [--bless] with BIN_DIR first on PATH.

In a ```console block a line `$ command` runs in the repository's root (a trailing backslash continues it) and the lines up to the next
`$` are what it prints, standard error included; `...` stands for any text within a line and the blanks around it, alone for
any lines. A command must exit with 0; write `|| echo "exit $?"` to show a failure. Files that examples write go to out/. Blocks marked
```console no-run are skipped. --bless puts the real output in the place of what differs, with `...` for times and rates.
"""

import os
import pathlib
import re
import subprocess
import sys

from repository import ROOT, read, tracked

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIME_LIMIT_S = 600
TIME_OR_RATE = re.compile(r"\b\d+(?:\.\d+)?(?: (?:us|ms|s|tokens/s|[GM]B/s|GF/s)\b|%)")


def examples(block):
    """Splits a block into (command, expected output)."""
    commands = []
    lines = block.splitlines()
    while lines:
        line = lines.pop(0)
        if line.startswith("$ "):
            command = [line]
            while command[-1].endswith("\\") and lines:
                command.append(lines.pop(0))
            commands.append(("\n".join(command), []))
        elif commands:
            commands[-1][1].append(line)
        else:
            raise ValueError(f"output before any command: {line}")
    return [(command, "\n".join(output)) for command, output in commands]


def run(command, bin_dir):
    environment = dict(os.environ, PATH=f"{bin_dir}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    done = subprocess.run(["bash", "-c", command.removeprefix("$ ")], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIME_LIMIT_S)
    output = "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n")
    return done.returncode, output


def matches(expected, output):
    pattern = ""
    for line in expected.strip("\n").splitlines():
        any_lines = line.strip() == "..."
        pattern += r"(?:.*\n)*" if any_lines else ".*".join(map(re.escape, re.split(r" *\.\.\. *", line.rstrip()))) + r"\n"
    return re.fullmatch(pattern, output + "\n" if output else "") is not None


def without_times(output):
    """Times differ from run to run: `...` in their place, as wide where they stand in a column."""
    return TIME_OR_RATE.sub(lambda time: f"{'...':>{len(time.group())}}", output)


def check_file(name, bin_dir, bless):
    """(passed, findings) of one file."""
    text = read(name)
    passed, findings, blessed = 0, [], text
    for block in BLOCK.finditer(text):
        new_block = []
        for command, expected in examples(block.group(1)):
            status, output = run(command, bin_dir)
            good = matches(expected, output)
            if status == 0 and good:
                passed += 1
            else:
                line = text.count("\n", 0, block.start()) + 1
                findings.append(f"{name}:{line}: `{command}` exits with {status}" if status else
                                f"{name}:{line}: `{command}` prints otherwise:\n{output}")
            new_block.append(command + "\n" + (expected if good else without_times(output)))
        if bless:
            blessed = blessed.replace(block.group(), "```console\n" + "\n".join(b.rstrip("\n") for b in new_block) + "\n```")
    if blessed != text:
        (ROOT / name).write_text(blessed, encoding="utf-8")
    return passed, findings


def main():
    bin_dir = pathlib.Path(sys.argv[1]).resolve()
    (ROOT / "out").mkdir(exist_ok=True)
    total, failed = 0, 0
    for name in tracked("README.md", "docs/*.md"):
        passed, findings = check_file(name, bin_dir, "--bless" in sys.argv)
        total += passed
        failed += len(findings)
        for finding in findings:
            print(finding)
    print(f"{total} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
