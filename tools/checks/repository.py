"""What every check shares: the tracked files, and one line per finding."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("ir", "passes", "codegen", "runtime", "models", "tests", "tools")


def tracked(*patterns):
    """Tracked and not yet added files that match the git pathspecs, relative to ROOT, sorted."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = sorted(set(filter(None, listed.split("\0"))))
    return [name for name in names if (ROOT / name).is_file()]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def is_text(name):
    content = (ROOT / name).read_bytes()
    try:
        return b"\0" not in content and content.decode("utf-8") is not None
    except UnicodeDecodeError:
        return False


def finish(findings):
    """Prints the findings and exits: 1 if there are any."""
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)
