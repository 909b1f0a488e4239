"""Gradients under autograd: added up, in chains and branches, for some inputs only, more than once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mxnet as mx
import numpy as np
import pytest

import pykernels
from pykernels.base import paths


@pytest.fixture(scope="module", autouse=True)
def shipped() -> Iterator[None]:
    pykernels.load_ops(paths.OPS)
    yield


def custom(op: str, **attributes: Any) -> Callable[..., Any]:
    return lambda *inputs: mx.nd.Custom(*inputs, op_type=op, **attributes)


#: What to call, and the shapes of the inputs.
CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "sigmoid": (custom("sigmoid"), [(3, 4)]),
    "leaky_relu": (custom("leaky_relu", alpha=0.3), [(3, 4)]),
    "dense": (custom("dense", bias=0.5), [(3, 4), (2, 4)]),
}


def inputs_for(shapes: list[tuple[int, ...]], dtype: str = "float64") -> list[Any]:
    rng = np.random.default_rng(3)
    # Away from 0, where relu has a corner.
    values = [rng.uniform(0.2, 1.5, shape) * rng.choice([-1, 1], shape) for shape in shapes]
    inputs = [mx.nd.array(value, dtype=dtype) for value in values]
    for each in inputs:
        each.attach_grad()
    return inputs


def weighted(y: Any) -> Any:
    """A number that depends on every element of `y` in its own way."""
    return (y * mx.nd.arange(1, y.size + 1, dtype=y.dtype).reshape(y.shape)).sum()


@pytest.mark.parametrize("case", CASES)
def test_gradients_can_be_added_up(case: str) -> None:
    op, shapes = CASES[case]
    written, added = inputs_for(shapes), inputs_for(shapes)
    for each in added:
        each.attach_grad(grad_req="add")
    for inputs, times in ((written, 1), (added, 3)):
        for _ in range(times):
            with mx.autograd.record():
                loss = weighted(op(*inputs))
            loss.backward()
    for one, three in zip(written, added):
        np.testing.assert_allclose(three.grad.asnumpy(), 3 * one.grad.asnumpy(), rtol=1e-12)


def test_chains_and_branches() -> None:
    (x,) = inputs_for([(3, 4)])
    with mx.autograd.record():
        hidden = mx.nd.Custom(x, op_type="sigmoid")
        loss = weighted(mx.nd.Custom(hidden, op_type="leaky_relu") * hidden + mx.nd.Custom(x, op_type="relu"))
    loss.backward()
    got = x.grad.asnumpy()
    with mx.autograd.record():
        hidden = mx.nd.sigmoid(x)
        loss = weighted(mx.nd.LeakyReLU(hidden, slope=0.01) * hidden + mx.nd.relu(x))
    loss.backward()
    np.testing.assert_allclose(got, x.grad.asnumpy(), rtol=1e-12)


def test_only_some_inputs_want_gradients() -> None:
    x, w = inputs_for([(3, 4), (2, 4)])
    plain = mx.nd.array(x.asnumpy(), dtype="float64")
    with mx.autograd.record():
        loss = weighted(mx.nd.Custom(plain, w, op_type="dense"))
    loss.backward()
    partial = w.grad.asnumpy()
    with mx.autograd.record():
        loss = weighted(mx.nd.Custom(x, w, op_type="dense"))
    loss.backward()
    np.testing.assert_array_equal(partial, w.grad.asnumpy())
    assert plain.grad is None


def test_attributes_reach_the_gradient_exactly() -> None:
    x = mx.nd.array([-1.0], dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="leaky_relu", alpha=0.1)
    y.backward()
    assert (y.asscalar(), x.grad.asscalar()) == (-0.1, 0.1)


def test_backward_can_run_twice() -> None:
    (x,) = inputs_for([(3, 4)])
    with mx.autograd.record():
        loss = weighted(mx.nd.Custom(x, op_type="softmax"))
    loss.backward(retain_graph=True)
    first = x.grad.asnumpy()
    x.grad[:] = 0
    loss.backward()
    np.testing.assert_array_equal(first, x.grad.asnumpy())
