"""The shipped ops as nodes of ONNX Runtime, forward and backward, against their plain NumPy run."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from cases import CASES, TRIED_ELSEWHERE, Case
from models import feed, one_node
from steps import Step, backward_step, forward_step

import pykernels
import pykernels.call.steps
import pykernels.onnx
from pykernels.frameworks.numpy import plugin as arrays
from pykernels.load.samples import sample

pytestmark = pytest.mark.usefixtures("shipped")

TOLERANCES = {"float16": 3e-3, "float32": 3e-6, "float64": 1e-13}


@pytest.fixture(scope="module")
def options(shipped: None) -> onnxruntime.SessionOptions:
    return pykernels.onnx.session_options()


def check(options: onnxruntime.SessionOptions, op_type: str, step: Step, tolerance: float) -> None:
    expected = step.run_plain()
    model = one_node(op_type, step.inputs, [y.dtype for y in expected], **step.attributes)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    results = session.run(None, feed(step.inputs))
    assert len(results) == len(expected)
    for result, value in zip(results, expected):
        assert result.dtype == value.dtype
        np.testing.assert_allclose(result, value, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("case", "dtype"), [(case, dtype) for case in CASES for dtype in case.dtypes], ids=str)
def test_nodes_equal_the_plain_run(case: Case, dtype: str, options: onnxruntime.SessionOptions) -> None:
    check(options, case.op, forward_step(case, dtype), TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_nodes_compute_with_integers(dtype: str, options: onnxruntime.SessionOptions) -> None:
    limits = np.iinfo(dtype)
    x = np.array([limits.min, 0, 3, limits.max], dtype)
    model = one_node("relu", [x], [x.dtype])
    (y,) = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feed([x]))
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, [0, 0, 3, limits.max])


@pytest.mark.parametrize("case", [case for case in CASES if case.variables], ids=str)
def test_nodes_of_gradients_equal_the_plain_run(case: Case, options: onnxruntime.SessionOptions) -> None:
    step = backward_step(case)
    check(options, step.op.name, step, 1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("op", sorted(TRIED_ELSEWHERE))
def test_the_other_ops_are_nodes_too(op: str, options: onnxruntime.SessionOptions) -> None:
    module = pykernels.list_ops()[op]
    step = pykernels.call.steps.forward_step(module, sample(module, 64, np.dtype("float32")))
    given = [array for group in step.inputs for array in group]
    wanted = [array for group in step.outputs for array in group]
    copies = [array.copy() for array in given]
    session = onnxruntime.InferenceSession(
        one_node(op, given, [y.dtype for y in wanted], **dict(step.attributes)).SerializeToString(), options
    )
    results = session.run(None, feed(given))
    assert [x.tolist() for x in given] == [x.tolist() for x in copies], "states are constants of the model"
    # ONNX Runtime does not train.
    expected = arrays.call(module, step.op.name, step.inputs, step.attributes, [len(g) for g in step.outputs])
    for result, value in zip(results, expected):
        np.testing.assert_allclose(result, value, rtol=3e-6, atol=3e-6)
