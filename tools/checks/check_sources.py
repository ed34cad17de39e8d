"""Every C++ source is built: it stands in the SOURCES of the nearest CMakeLists.txt, once, and the list is sorted."""

import pathlib
import re

from repository import ROOT, finish, read, tracked

BUILT = ("ir", "passes", "codegen", "runtime", "models", "tools", "tests", "bench")
SOURCE = re.compile(r"[\w./-]+\.cpp")


def nearest_list(name):
    folder = next(parent for parent in pathlib.PurePosixPath(name).parents if (ROOT / parent / "CMakeLists.txt").is_file())
    return folder, (folder / "CMakeLists.txt").as_posix()


findings = []
for name in tracked("*.cpp"):
    if name.split("/")[0] not in BUILT or name.startswith("tests/data/"):
        continue
    folder, cmake_list = nearest_list(name)
    count = SOURCE.findall(read(cmake_list)).count(pathlib.PurePosixPath(name).relative_to(folder).as_posix())
    if count != 1:
        findings.append(f"{name}: named {count} times in {cmake_list}")
for cmake_list in tracked("*CMakeLists.txt"):
    for block in re.findall(r"SOURCES\n((?:\s+[\w./-]+\.cpp\n)+)", read(cmake_list)):
        if block.split() != sorted(block.split()):
            findings.append(f"{cmake_list}: sources are not sorted")
finish(findings)
