#!/usr/bin/env python3
"""check_suite.py BUILD [FOLDER]: ONNX's node tests named in relevant.txt, on the interpreter and on the CPU. Exit status 1 unless
exactly those of not_passed.txt do not pass.

The cases are written to FOLDER (out/onnx_node) unless they are there: the onnx package has them as Python. Needs onnx 1.23.2."""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def lines_of(name):
    lines = (HERE / name).read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def serialized(value, info):
    import numpy as np
    import onnx
    from onnx import numpy_helper

    if isinstance(value, (onnx.TensorProto, onnx.SparseTensorProto)):
        return value.SerializeToString()
    if info.type.HasField("sequence_type"):
        return numpy_helper.from_list(value, info.name).SerializeToString()
    if info.type.HasField("optional_type"):
        return numpy_helper.from_optional(value, info.name).SerializeToString()
    return numpy_helper.from_array(np.asarray(value), info.name).SerializeToString()


def write_case(case, folder):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    inputs, outputs = case.data_sets[0]
    for kind, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
        for index, value in enumerate(values):
            (data / f"{kind}_{index}.pb").write_bytes(serialized(value, infos[index]))


def write_suite(folder, names):
    from onnx.backend.test.case import model as models
    from onnx.backend.test.loader import load_model_tests

    cases = load_model_tests(kind="node") + [case for case in models.collect_testcases() if case.kind == "simple"]
    for case in cases:
        if case.name in names:
            write_case(case, folder / case.name)


def run(build, backend, folder):
    command = [build / "bin/onnx_node_tests", backend, folder, HERE / "relevant.txt"]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    passed = {line.split()[1] for line in output if line.startswith("pass ")}
    details = {line.split()[1].rstrip(":"): line for line in output}
    return passed, details


def check(build, backend, folder, names, excepted):
    passed, details = run(build, backend, folder)
    expected = names - excepted
    print(f"{backend}: {len(passed)} of {len(names)} pass, {len(expected)} are expected to")
    for name in sorted(expected - passed):
        print(f"  {details.get(name, f'no verdict: {name}')}")
    for name in sorted(passed - expected):
        print(f"  passes, though not_passed.txt names it: {name}")
    return passed == expected


def main():
    build = pathlib.Path(sys.argv[1])
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "out/onnx_node")
    names = lines_of("relevant.txt")
    written = names | lines_of("selection.txt")
    if not all((folder / name / "model.onnx").is_file() for name in written):
        shutil.rmtree(folder, ignore_errors=True)
        write_suite(folder, written)
    results = [check(build, backend, folder, names, lines_of("not_passed.txt")) for backend in ("interpreter", "cpu")]
    sys.exit(0 if all(results) else 1)


main()
