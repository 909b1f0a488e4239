"""The shipped ops on NumPy arrays: compiled as plain, for every dtype, rank and layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import CASES, TRIED_ELSEWHERE, Case, outputs
from process import CHECKOUT
from steps import backward_step, forward_step

import pykernels
from pykernels.base import paths
from pykernels.base.errors import CallError

TOLERANCES = {"float16": 3e-3, "float32": 3e-6, "float64": 1e-13}


@pytest.fixture(autouse=True)
def ops() -> Iterator[Any]:
    yield pykernels.load_ops(paths.OPS)
    pykernels.unload_ops()


def call(case: Case, inputs: list[np.ndarray]) -> list[np.ndarray]:
    return outputs(getattr(pykernels.list_ops()[case.op].api, case.op)(*inputs, **case.attributes))


def assert_alike(results: Sequence[np.ndarray], expected: Sequence[np.ndarray], tolerance: float) -> None:
    assert len(results) == len(expected)
    for result, value in zip(results, expected):
        assert result.dtype == value.dtype
        np.testing.assert_allclose(result, value, rtol=tolerance, atol=tolerance)


def test_every_shipped_op_is_tried() -> None:
    tried = {case.op for case in CASES} | TRIED_ELSEWHERE
    assert tried == {folder.name for folder in paths.OPS.iterdir() if folder.is_dir()}


@pytest.mark.parametrize(("case", "dtype"), [(case, dtype) for case in CASES for dtype in case.dtypes], ids=str)
def test_compiled_equals_plain(case: Case, dtype: str) -> None:
    results = call(case, case.inputs(dtype))
    assert results[0].dtype == ("int32" if case.op == "nms" else dtype)
    assert_alike(results, forward_step(case, dtype).run_plain(), TOLERANCES[dtype])


@pytest.mark.parametrize("case", [case for case in CASES if case.variables], ids=str)
def test_compiled_gradients_equal_plain(case: Case) -> None:
    step = backward_step(case)
    assert_alike(step.run(), step.run_plain(), TOLERANCES["float64"])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_layout_and_byte_order_do_not_matter(case: Case) -> None:
    inputs = case.inputs("float64")
    expected = call(case, inputs)
    for changed in (
        [np.asfortranarray(x) for x in inputs],
        [np.repeat(x, 2, axis=0)[::2] for x in inputs],
        [x.astype(x.dtype.newbyteorder(">")) for x in inputs],
    ):
        assert_alike(call(case, changed), expected, 0)


@pytest.mark.parametrize("op", ["sigmoid", "relu", "leaky_relu", "tensor_negate"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 2, 1, 3, 1)], ids=str)
def test_elementwise_ops_take_any_shape(op: str, shape: tuple[int, ...]) -> None:
    case = Case(op, (shape,))
    results = call(case, case.inputs("float32"))
    assert results[0].shape == shape
    assert_alike(results, forward_step(case, "float32").run_plain(), 3e-6)


def test_empty_batches() -> None:
    dense = pykernels.list_ops()["dense"].api.dense
    assert dense(np.ones((0, 3)), np.ones((2, 3))).shape == (0, 2)
    np.testing.assert_array_equal(dense(np.ones((2, 0)), np.ones((3, 0)), bias=0.5), np.full((2, 3), 0.5))
    softmax = pykernels.list_ops()["softmax"].api.softmax
    assert softmax(np.ones((0, 3))).shape == (0, 3)


def test_extreme_values() -> None:
    api = {name: getattr(module.api, name) for name, module in pykernels.list_ops().items()}
    x = np.array([-1e4, -100, 0, 100, 1e4], np.float32)
    np.testing.assert_allclose(api["sigmoid"](x), [0, 3.783506e-44, 0.5, 1, 1], atol=1e-44)
    np.testing.assert_array_equal(api["softmax"](x), [0, 0, 0, 0, 1])
    assert np.isnan(api["sigmoid"](np.array([np.nan])))[0]
    np.testing.assert_array_equal(api["relu"](np.array([np.inf, -np.inf])), [np.inf, 0])


@pytest.mark.parametrize(
    ("op", "inputs", "message"),
    [
        ("dense", [np.ones((2, 3)), np.ones((4, 5))], "dense_forward.*3.*5"),
        ("dense", [np.ones(3), np.ones((4, 3))], "dense_forward"),
        ("dense", [np.ones((2, 3)), np.ones((4, 3), np.float32)], "dense_forward.*float"),
        ("sigmoid", [np.ones(3, np.int32)], "sigmoid_forward.*int32"),
        ("softmax", [np.ones(())], "softmax_forward"),
        ("sigmoid", ["text"], "an input is a str, not an array of NumPy"),
    ],
)
def test_wrong_inputs_are_refused(op: str, inputs: list[Any], message: str) -> None:
    with pytest.raises(CallError, match=message):
        getattr(pykernels.list_ops()[op].api, op)(*inputs)


def test_a_wrong_axis_is_refused() -> None:
    with pytest.raises(CallError, match=r"softmax_forward.*axis"):
        pykernels.list_ops()["softmax"].api.softmax(np.ones((2, 3)), axis=2)


def test_help_shows_what_an_op_does() -> None:
    for name, module in pykernels.list_ops().items():
        text = getattr(module.api, name).__doc__
        assert text is not None and "Parameters" in text and "Returns" in text


def test_every_op_is_listed_in_the_documentation() -> None:
    page = (CHECKOUT / "docs" / "ops.md").read_text()
    listed = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert listed == sorted(folder.name for folder in paths.OPS.iterdir())


def test_the_folder_of_every_op_has_three_files() -> None:
    for folder in paths.OPS.iterdir():
        files = sorted(path.name for path in Path(folder).iterdir() if path.is_file())
        parts = [name.removeprefix(folder.name) for name in files]
        assert parts in (
            ["_cpp_def.cpp", "_py_api.py", "_py_kernel.py"],
            ["_py_api.py", "_py_def.py", "_py_kernel.py"],
        )
