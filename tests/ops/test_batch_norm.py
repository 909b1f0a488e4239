"""batch_norm: in training and out of it, beside MXNet's own and finite differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mxnet as mx
import numpy as np
import pytest

import pykernels
from pykernels.base import paths
from pykernels.base.errors import CallError

AXES = {"NCHW": ((4, 3, 2, 5), 1), "NHWC": ((2, 4, 3), -1)}


@pytest.fixture(autouse=True, scope="module")
def ops() -> Iterator[None]:
    pykernels.load_ops(paths.OPS / "batch_norm")
    yield
    pykernels.unload_ops()


def values(shape: tuple[int, ...], axis: int, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    channels = shape[axis]
    arrays = [rng.normal(2, 3, shape), rng.normal(size=channels), rng.normal(size=channels)]
    arrays += [rng.normal(size=channels), rng.uniform(1, 2, channels)]
    return [a.astype(dtype) for a in arrays]


def run(op: Any, arrays: list[np.ndarray], seed: np.ndarray, train: bool) -> tuple[np.ndarray, list[Any], list[Any]]:
    inputs = [mx.nd.array(a, dtype=a.dtype) for a in arrays]
    for each in inputs[:3]:
        each.attach_grad()
    with mx.autograd.record(train_mode=train):
        y = op(*inputs)
    mx.autograd.backward([y], [mx.nd.array(seed, dtype=seed.dtype)], train_mode=train)
    return y.asnumpy(), [each.grad.asnumpy() for each in inputs[:3]], [each.asnumpy() for each in inputs[3:]]


@pytest.mark.parametrize("layout", AXES)
@pytest.mark.parametrize("train", [True, False])
def test_equal_to_mxnets_own(layout: str, train: bool) -> None:
    shape, axis = AXES[layout]
    arrays = values(shape, axis, "float32")
    seed = np.random.default_rng(1).normal(size=shape).astype("float32")
    y, grads, states = run(lambda *a: mx.nd.Custom(*a, op_type="batch_norm", axis=axis, eps=0.01), arrays, seed, train)
    own, own_grads, _ = run(
        lambda *a: mx.nd.BatchNorm(*a, axis=axis, eps=0.01, fix_gamma=False, momentum=0.9), arrays, seed, train
    )
    np.testing.assert_allclose(y, own, rtol=1e-4, atol=1e-5)
    for grad, own_grad in zip(grads, own_grads):
        np.testing.assert_allclose(grad, own_grad, rtol=1e-3, atol=1e-4)
    others = tuple(i for i in range(len(shape)) if i != axis % len(shape))
    x, moved = arrays[0], 0.1 if train else 0
    for state, before, batch in zip(states, arrays[3:], (x.mean(others), x.var(others))):
        np.testing.assert_allclose(state, (1 - moved) * before + moved * batch, rtol=1e-5)


@pytest.mark.thorough
@pytest.mark.parametrize("train", [True, False])
def test_gradients_are_finite_differences(train: bool) -> None:
    shape, axis = (3, 2, 2), 1
    arrays = values(shape, axis, "float64")
    seed = np.random.default_rng(1).normal(size=shape)

    def op(*inputs: Any) -> Any:
        return mx.nd.Custom(*inputs, op_type="batch_norm")

    _, grads, _ = run(op, arrays, seed, train)
    step = 1e-6
    for which, grad in enumerate(grads):
        numeric = np.empty_like(grad)
        for at in np.ndindex(grad.shape):
            ends = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[which][at] += sign * step
                with mx.autograd.train_mode() if train else mx.autograd.predict_mode():
                    ends.append((op(*(mx.nd.array(a, dtype="float64") for a in moved)).asnumpy() * seed).sum())
            numeric[at] = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(grad, numeric, rtol=1e-5, atol=1e-7)


def test_a_graph_completes_what_is_not_given() -> None:
    graph = mx.sym.Custom(mx.sym.var("x"), op_type="batch_norm", name="bn")
    assert graph.list_arguments() == ["x", "bn_gamma", "bn_beta"]
    assert graph.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert graph.infer_shape(x=(4, 3, 2)) == ([(4, 3, 2), (3,), (3,)], [(4, 3, 2)], [(3,), (3,)])


@pytest.mark.thorough
def test_on_numpy_arrays_it_does_not_train() -> None:
    x, gamma, beta, mean, var = values((4, 3), 1, "float64")
    y = pykernels.list_ops()["batch_norm"].api.batch_norm(x, gamma, beta, mean, var)
    np.testing.assert_allclose(y, gamma * (x - mean) / np.sqrt(var + 1e-3) + beta)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"axis": 2}, "axis 2 is not one of the 2 axes of x"),
        ({"gamma": np.ones(4)}, "'gamma' has shape"),
        ({"x": np.ones((4, 3), np.int32)}, "x must be floating point, not int32"),
        ({"moving_var": np.ones(3, np.float32)}, "'moving_var' has dtype float32"),
    ],
)
def test_wrong_inputs_are_refused(change: dict[str, Any], message: str) -> None:
    names = ("x", "gamma", "beta", "moving_mean", "moving_var")
    call = dict(zip(names, values((4, 3), 1, "float64"))) | change
    with pytest.raises(CallError, match=message):
        pykernels.list_ops()["batch_norm"].api.batch_norm(**call)
