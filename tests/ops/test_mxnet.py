"""The shipped ops in MXNet: equal to MXNet's own, with gradients that finite differences confirm."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case

import pykernels
from pykernels import paths

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import mxnet as mx

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:mxnet")


@pytest.fixture(autouse=True, scope="module")
def ops() -> Iterator[None]:
    pykernels.load_ops(paths.OPS)
    yield
    pykernels.unload_ops()


def gradients(function: Any, inputs: list[np.ndarray], seed: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The output, and the gradient of ``sum(output * seed)`` with respect to every input."""
    arrays = [mx.nd.array(x, dtype=x.dtype) for x in inputs]
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        y = function(*arrays)
    y.backward(mx.nd.array(seed, dtype=seed.dtype))
    return y.asnumpy(), [array.grad.asnumpy() for array in arrays]


def ours(case: Case) -> Any:
    return lambda *arrays: mx.nd.Custom(*arrays, op_type=case.op, **case.attributes)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_equal_to_mxnets_own(case: Case, dtype: str) -> None:
    inputs = case.inputs(dtype)
    shape = case.built_in(mx.nd, *(mx.nd.array(x, dtype=dtype) for x in inputs)).shape
    seed = np.random.default_rng(1).normal(size=shape).astype(dtype)
    y, grads = gradients(ours(case), inputs, seed)
    expected, expected_grads = gradients(lambda *arrays: case.built_in(mx.nd, *arrays), inputs, seed)
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if dtype == "float32" else {"rtol": 1e-7, "atol": 1e-8}
    assert y.dtype == dtype
    np.testing.assert_allclose(y, expected, **tolerance)
    for grad, expected_grad in zip(grads, expected_grads):
        np.testing.assert_allclose(grad, expected_grad, **tolerance)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_are_finite_differences(case: Case) -> None:
    inputs = case.inputs("float64", seed=2)
    shape = ours(case)(*(mx.nd.array(x, dtype="float64") for x in inputs)).shape
    seed = np.random.default_rng(3).normal(size=shape)
    _, grads = gradients(ours(case), inputs, seed)
    step = 1e-6
    for which, x in enumerate(inputs):
        numeric = np.empty_like(x)
        for at in np.ndindex(x.shape):
            values = []
            for sign in (1, -1):
                moved = [a.copy() for a in inputs]
                moved[which][at] += sign * step
                y = ours(case)(*(mx.nd.array(a, dtype="float64") for a in moved)).asnumpy()
                values.append((y * seed).sum())
            numeric[at] = (values[0] - values[1]) / (2 * step)
        np.testing.assert_allclose(grads[which], numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_api_serves_arrays_and_symbols(case: Case) -> None:
    api = getattr(pykernels.list_ops()[case.op].api, case.op)
    inputs = case.inputs("float32")
    expected = api(*inputs, **case.attributes)
    arrays = [mx.nd.array(x) for x in inputs]
    result = api(*arrays, **case.attributes)
    assert isinstance(result, mx.nd.NDArray)
    np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-6)
    names = [f"in{i}" for i in range(len(inputs))]
    symbol = api(*map(mx.sym.Variable, names), **case.attributes)
    assert isinstance(symbol, mx.sym.Symbol)
    (output,) = symbol.bind(mx.cpu(), dict(zip(names, arrays))).forward()
    np.testing.assert_allclose(output.asnumpy(), expected, rtol=1e-6)
