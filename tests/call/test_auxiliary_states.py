"""Inputs that a kernel changes in place, such as moving averages: from C++ and Python definitions, on NumPy arrays."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pykernels
from pykernels.base.errors import CallError, DefinitionError
from pykernels.define.cpp_def import load_cpp_def

CPP = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("average_forward")
    .Input("x")
    .Input("mean")
    .Output("y")
    .Attr<float>("momentum", 0.5)
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .SetInputArgModifyFn([](user_op::GetInputArgModifier get, const user_op::UserOpConfWrapper&) {
      user_op::InputArgModifier* mean = get("mean", 0);
      CHECK_NOTNULL(mean);
      mean->set_is_mutable(true);
      mean->set_requires_grad(false);
    });
}  // namespace oneflow
"""
PYTHON = """
import pykernels
class Average(pykernels.CustomOpProp):
    def __init__(self, momentum: float = 0.5):
        super().__init__()
    def list_arguments(self):
        return ["x"]
    def list_auxiliary_states(self):
        return ["mean"]
    def list_outputs(self):
        return ["y"]
    def infer_shape(self, in_shape):
        return in_shape, in_shape, in_shape
"""
KERNEL = """
def forward(args, *, momentum):
    x, mean = args
    mean[...] = momentum * mean + (1 - momentum) * x
    return x - mean
"""
BACKWARD = """
def backward(args, *, momentum):
    dy, x, y, mean = args
    return momentum * dy
"""


@pytest.fixture(params=["cpp", "python"])
def average(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    folder = tmp_path / "average"
    folder.mkdir()
    if request.param == "cpp":
        (folder / "average_cpp_def.cpp").write_text(CPP)
        (folder / "average_py_kernel.py").write_text(KERNEL)
    else:
        (folder / "average_py_def.py").write_text(textwrap.dedent(PYTHON))
        (folder / "average_py_kernel.py").write_text(KERNEL + BACKWARD)
    (folder / "average_py_api.py").write_text("")
    yield pykernels.load_ops(folder)["average"]
    pykernels.unload_ops()


def call(x: np.ndarray, mean: np.ndarray) -> np.ndarray:
    builder = pykernels.user_op_builder("a").Op("average_forward").Input("x", [x]).Input("mean", [mean]).Output("y")
    return builder.Build().InferAndTryRun().SoleOutputBlob()


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_state_is_changed_in_place(average: Any, dtype: str) -> None:
    x, mean = np.array([4.0, 8.0], dtype), np.zeros(2, dtype)
    np.testing.assert_array_equal(call(x, mean), [2, 4])
    np.testing.assert_array_equal(mean, [2, 4])
    np.testing.assert_array_equal(call(x, mean), [1, 2])
    np.testing.assert_array_equal(mean, [3, 6])
    np.testing.assert_array_equal(x, [4, 8])


def test_a_state_of_any_layout_is_changed(average: Any) -> None:
    store = np.zeros((2, 4))
    call(np.full((2, 2), 4.0), store[:, ::2])
    np.testing.assert_array_equal(store, [[2, 0, 2, 0], [2, 0, 2, 0]])


def test_a_read_only_state_is_refused(average: Any) -> None:
    mean = np.zeros(2)
    mean.flags.writeable = False
    with pytest.raises(CallError, match="average_forward changes its input 'mean', but the array is read-only"):
        call(np.ones(2), mean)


def test_the_schema_marks_it(average: Any) -> None:
    assert average.forward.schema() == "average_forward(x, mean!, *, momentum: float = 0.5) -> y"
    assert [argument.mutable for argument in average.forward.inputs] == [False, True]


@pytest.mark.thorough
def test_states_are_the_last_inputs(tmp_path: Path) -> None:
    path = tmp_path / "average_cpp_def.cpp"
    path.write_text(CPP.replace('.Input("mean")', '.Input("mean").Input("weight")'))
    with pytest.raises(DefinitionError, match=r"cpp:4: op average_forward changes.*'mean'.*'weight' must come before"):
        load_cpp_def(path)


def test_a_state_has_no_gradient(average: Any) -> None:
    if average.forward.gradient is None:
        assert average.definition.path.suffix == ".cpp"
        return
    plan = average.forward.plan_gradient(None, {"momentum": 0.5})
    assert list(plan.bindings) == [("x", 0)]
    assert plan.ops[0].inputs == (("dy", "D/y/0"), ("x", "I/x/0"), ("y", "O/y/0"), ("mean", "I/mean/0"))
