#!/usr/bin/env python3
"""write_cases.py OUT [SUITE]: writes the cases of old_forms.py to OUT/old_forms, and copies the cases named in selection.txt
from SUITE (a folder that check_suite.py wrote) to OUT/suite. Needs onnx 1.23 and numpy. Writes the same bytes each time."""

import pathlib
import shutil
import sys

import numpy as np
import onnx
from onnx import helper
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import old_forms


def value_info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def model_of(case):
    graph = helper.make_graph(
        case.nodes,
        case.name,
        [value_info(name, array) for name, array in case.inputs.items() if name],
        [value_info(name, array) for name, array in case.outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in case.initializers.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def check_against_reference(case, model):
    feeds = {name: array for name, array in case.inputs.items() if name}
    for (name, expected), got in zip(case.outputs.items(), ReferenceEvaluator(model).run(None, feeds)):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6, err_msg=f"{case.name}: {name}")
        assert np.asarray(got).dtype == expected.dtype, (case.name, name)


def write_values(folder, kind, values):
    for index, (name, array) in enumerate(values):
        (folder / f"{kind}_{index}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString(deterministic=True))


def write_case(folder, case):
    model = model_of(case)
    if case.in_reference:
        check_against_reference(case, model)
    data = folder / case.name / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / case.name / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    write_values(data, "input", [(name, np.asarray(array, order="C")) for name, array in case.inputs.items() if name])
    write_values(data, "output", [(name, np.asarray(array, order="C")) for name, array in case.outputs.items()])


def main():
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out / "old_forms", ignore_errors=True)
    for case in old_forms.all_cases():
        write_case(out / "old_forms", case)
    if len(sys.argv) > 2:
        shutil.rmtree(out / "suite", ignore_errors=True)
        names = pathlib.Path(__file__).with_name("selection.txt").read_text().split()
        for name in names:
            shutil.copytree(pathlib.Path(sys.argv[2]) / name, out / "suite" / name)


if __name__ == "__main__":
    main()
