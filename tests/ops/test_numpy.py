"""The shipped ops on NumPy arrays: compiled as plain, for every dtype, rank and layout."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case

import pykernels
from pykernels import paths
from pykernels.errors import CallError
from pykernels.kernel import reference

FLOATS = {"float16": 3e-3, "float32": 3e-6, "float64": 1e-13}


@pytest.fixture(autouse=True)
def ops() -> Iterator[Any]:
    yield pykernels.load_ops(paths.OPS)
    pykernels.unload_ops()


def plain(case: Case, inputs: list[np.ndarray], like: np.ndarray) -> np.ndarray:
    module = pykernels.list_ops()[case.op]
    kernel = module.kernel(f"{case.op}_forward")
    attributes = module.forward.parse_attributes(case.attributes)
    out = np.empty_like(like)
    keywords = {name: attributes[name] for name in kernel.keywords}
    reference.run(kernel, case.op, tuple(inputs), (out,), ["y"], keywords)
    return out


def call(case: Case, inputs: list[np.ndarray]) -> np.ndarray:
    return getattr(pykernels.list_ops()[case.op].api, case.op)(*inputs, **case.attributes)


def test_every_shipped_op_is_tried() -> None:
    assert {case.op for case in CASES} == {folder.name for folder in paths.OPS.iterdir() if folder.is_dir()}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled_equals_plain(case: Case, dtype: str) -> None:
    inputs = case.inputs(dtype)
    result = call(case, inputs)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, plain(case, inputs, result), rtol=FLOATS[dtype], atol=FLOATS[dtype])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_layout_and_byte_order_do_not_matter(case: Case) -> None:
    inputs = case.inputs("float64")
    expected = call(case, inputs)
    np.testing.assert_array_equal(call(case, [np.asfortranarray(x) for x in inputs]), expected)
    np.testing.assert_array_equal(call(case, [np.repeat(x, 2, axis=0)[::2] for x in inputs]), expected)
    np.testing.assert_array_equal(call(case, [x.astype(">f8") for x in inputs]), expected)


@pytest.mark.parametrize("op", ["sigmoid", "relu", "leaky_relu"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 2, 1, 3, 1)], ids=str)
def test_elementwise_ops_take_any_shape(op: str, shape: tuple[int, ...]) -> None:
    case = Case(op, (shape,), lambda F, x: x)
    inputs = case.inputs("float32")
    result = call(case, inputs)
    assert result.shape == shape
    np.testing.assert_allclose(result, plain(case, inputs, result), rtol=3e-6)


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
    ("op", "inputs", "told"),
    [
        ("dense", [np.ones((2, 3)), np.ones((4, 5))], "dense_forward.*3.*5"),
        ("dense", [np.ones(3), np.ones((4, 3))], "dense_forward"),
        ("dense", [np.ones((2, 3)), np.ones((4, 3), np.float32)], "dense_forward.*float"),
        ("sigmoid", [np.ones(3, np.int32)], "sigmoid_forward.*int32"),
        ("softmax", [np.ones(())], "softmax_forward"),
        ("sigmoid", ["text"], "an input is a builtins.str, which is no tensor"),
    ],
)
def test_wrong_inputs_are_told(op: str, inputs: list[Any], told: str) -> None:
    with pytest.raises(CallError, match=told):
        getattr(pykernels.list_ops()[op].api, op)(*inputs)


def test_a_wrong_axis_is_told() -> None:
    with pytest.raises(CallError, match=r"softmax_forward.*axis"):
        pykernels.list_ops()["softmax"].api.softmax(np.ones((2, 3)), axis=2)


def test_help_shows_what_an_op_does() -> None:
    for name, module in pykernels.list_ops().items():
        text = getattr(module.api, name).__doc__
        assert text is not None and "Parameters" in text and "Returns" in text


def test_the_folder_of_every_op_has_three_files() -> None:
    for folder in paths.OPS.iterdir():
        files = sorted(path.name for path in Path(folder).iterdir() if path.is_file())
        assert files == [f"{folder.name}{part}" for part in ("_cpp_def.cpp", "_py_api.py", "_py_kernel.py")]
