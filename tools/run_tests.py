#!/usr/bin/env python3
"""run_tests.py BUILD_DIR [--label LABEL]: runs ctest and prints what failed, then `N passed, N failed`.

A ctest entry that is a GoogleTest executable counts as its test cases, any other entry as one. An executable that ends without its
result file (a crash, a time limit) counts as one failure.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree


def run_ctest(build, label, results):
    junit = results / "junit.xml"
    command = ["ctest", "--test-dir", str(build), "--output-on-failure", "--output-junit", str(junit)]
    command += ["-j", os.environ.get("STEPC_JOBS", str(os.cpu_count() or 1))]
    if label:
        command += ["-L", f"^{label}$"]
    # The directory form: GoogleTest names the file after the executable.
    environment = dict(os.environ, GTEST_OUTPUT=f"json:{results}/", GTEST_BRIEF="1")
    environment.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    status = subprocess.run(command, env=environment).returncode
    return status, junit


def count(junit, results):
    """(passed, failed) over all entries of the run."""
    passed = failed = 0
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        ok = case.get("status") == "run"
        cases = results / f"{case.get('name')}.json"
        if cases.is_file():
            report = json.loads(cases.read_text())
            bad = report["failures"] + report["errors"]
            passed += report["tests"] - report["disabled"] - bad
            failed += max(bad, 0 if ok else 1)
        else:
            passed += ok
            failed += not ok
    return passed, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--label")
    arguments = parser.parse_args()

    build = arguments.build.resolve()
    results = build / "test-results"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    status, junit = run_ctest(build, arguments.label, results)
    passed, failed = count(junit, results) if junit.is_file() else (0, 1)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if status or failed or not passed else 0)


main()
