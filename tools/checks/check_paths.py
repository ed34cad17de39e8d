"""No path of a developer's machine and no registry host in a tracked file: both are wrong everywhere else."""

import re

from repository import finish, is_text, read, tracked

# Split so that this file does not find itself.
MACHINE_PATH = re.compile(r"(?<![A-Za-z0-9_.])/(?:" + "|".join(["work", "root", "home", "farm"]) + r")/")
REGISTRY = re.compile(r"\b(?:" + "|".join(["py" + "pi", "files.python" + "hosted", "deb." + "debian", "conda." + "anaconda"]) + r")\.(?:org|com)\b")

findings = []
for name in tracked():
    if not is_text(name):
        continue
    for number, line in enumerate(read(name).splitlines(), 1):
        if MACHINE_PATH.search(line):
            findings.append(f"{name}:{number}: path of a machine: {line.strip()[:100]}")
        if REGISTRY.search(line):
            findings.append(f"{name}:{number}: registry host: {line.strip()[:100]}")
finish(findings)
