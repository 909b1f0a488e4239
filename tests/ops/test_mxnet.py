"""The shipped ops in MXNet: equal to MXNet's own, with gradients that finite differences confirm."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from cases import CASES, Case, outputs

import pykernels
from pykernels.base import paths


@pytest.fixture(autouse=True, scope="module")
def ops() -> Iterator[None]:
    pykernels.load_ops(paths.OPS)
    yield
    pykernels.unload_ops()


def run(
    function: Any, inputs: list[np.ndarray], seeds: Sequence[np.ndarray] = (), wanted: Sequence[int] = ()
) -> tuple[list[Any], list[Any]]:
    """The outputs, and the gradients of ``sum(output * seed)`` over all outputs with respect to the wanted inputs."""
    arrays = [mx.nd.array(x, dtype=x.dtype) for x in inputs]
    for which in wanted:
        arrays[which].attach_grad()
    with mx.autograd.record():
        ys = outputs(function(*arrays))
    if wanted:
        mx.autograd.backward(ys, [mx.nd.array(seed, dtype=seed.dtype) for seed in seeds])
    return [y.asnumpy() for y in ys], [arrays[which].grad.asnumpy() for which in wanted]


def random_seeds(function: Any, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """A weight for every element of the outputs."""
    rng = np.random.default_rng(1)
    return [rng.normal(size=y.shape).astype(y.dtype) for y in run(function, inputs)[0]]


def ours(case: Case) -> Any:
    return lambda *arrays: mx.nd.Custom(*arrays, op_type=case.op, **case.attributes)


BUILT_IN = [(case, dtype) for case in CASES for dtype in case.dtypes if case.built_in and dtype != "float16"]


@pytest.mark.parametrize(("case", "dtype"), BUILT_IN, ids=str)
def test_equal_to_mxnets_own(case: Case, dtype: str) -> None:
    assert case.built_in is not None
    built_in = functools.partial(case.built_in, mx.nd)
    inputs = case.inputs(dtype)
    seeds = random_seeds(built_in, inputs)
    ys, grads = run(ours(case), inputs, seeds, case.variables)
    expected, expected_grads = run(built_in, inputs, seeds, case.variables)
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if dtype == "float32" else {"rtol": 1e-7, "atol": 1e-8}
    assert [y.dtype for y in ys] == [y.dtype for y in expected]
    for value, expected_value in zip([*ys, *grads], [*expected, *expected_grads], strict=True):
        np.testing.assert_allclose(value, expected_value, **tolerance)


@pytest.mark.parametrize("case", [case for case in CASES if case.variables], ids=str)
def test_gradients_are_finite_differences(case: Case) -> None:
    inputs = case.inputs("float64", seed=2)
    seeds = random_seeds(ours(case), inputs)
    _, grads = run(ours(case), inputs, seeds, range(len(inputs)))
    for which in case.constants:
        np.testing.assert_array_equal(grads[which], np.zeros_like(inputs[which]))
    for which in case.variables:
        numeric = np.empty_like(inputs[which])
        for at in np.ndindex(numeric.shape):
            numeric[at] = slope(case, inputs, seeds, which, at)
        np.testing.assert_allclose(grads[which], numeric, rtol=1e-6, atol=1e-8)


def slope(case: Case, inputs: list[np.ndarray], seeds: list[np.ndarray], which: int, at: tuple[int, ...]) -> float:
    """The derivative of ``sum(output * seed)`` with respect to one element, by a central difference."""
    step = 1e-6
    values = []
    for sign in (1, -1):
        moved = [x.copy() for x in inputs]
        moved[which][at] += sign * step
        with mx.autograd.train_mode():
            ys = outputs(ours(case)(*(mx.nd.array(x, dtype=x.dtype) for x in moved)))
        values.append(sum((y.asnumpy() * seed).sum() for y, seed in zip(ys, seeds)))
    return float(values[0] - values[1]) / (2 * step)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_api_serves_arrays_and_symbols(case: Case) -> None:
    api = getattr(pykernels.list_ops()[case.op].api, case.op)
    inputs = case.inputs("float32")
    expected = outputs(api(*inputs, **case.attributes))
    arrays = [mx.nd.array(x, dtype=x.dtype) for x in inputs]
    results = outputs(api(*arrays, **case.attributes))
    names = [f"in{i}" for i in range(len(inputs))]
    symbols = outputs(api(*map(mx.sym.Variable, names), **case.attributes))
    graph = mx.sym.Group(symbols).bind(mx.cpu(), dict(zip(names, arrays)))
    assert all(isinstance(result, mx.nd.NDArray) for result in results)
    assert all(isinstance(symbol, mx.sym.Symbol) for symbol in symbols)
    for values in (results, graph.forward()):
        for value, expected_value in zip(values, expected, strict=True):
            np.testing.assert_allclose(value.asnumpy(), expected_value, rtol=1e-6)
