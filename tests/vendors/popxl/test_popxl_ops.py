"""PopXL's ops against NumPy, and their gradients against differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from popxl_runs import gradients, numerical_gradients, run
from scipy.special import erf

import pykernels.vendors.popxl as popxl
from pykernels.vendors.popxl import ops

X = np.array([[-1.5, -0.25, 0.75], [0.5, 1.25, 2.5]])
POSITIVE = np.abs(X) + 0.5
Y = np.array([[0.5, -2.0, 1.5], [3.0, 0.25, -0.75]])
ROW = np.array([0.5, -1.0, 2.0])
CUBE = np.linspace(-1, 1, 24).reshape(2, 3, 4) ** 3
PROBABILITIES = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
LABELS = np.array([2, 0], "int32")


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b


def nll(p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return -np.log(p[np.arange(len(labels)), labels])


Case = tuple[Callable[..., Any], Callable[..., Any], tuple[np.ndarray, ...]]
#: Ops with gradients: the op, the same in NumPy, the inputs.
SMOOTH: dict[str, Case] = {
    "abs": (ops.abs, np.abs, (X,)),
    "add": (ops.add, np.add, (X, Y)),
    "add broadcast": (ops.add, np.add, (X, ROW)),
    "sub broadcast": (ops.sub, np.subtract, (ROW, X)),
    "mul": (ops.mul, np.multiply, (X, Y)),
    "mul broadcast": (ops.mul, np.multiply, (ROW[:, None], ROW)),
    "square": (lambda x: x * x, np.square, (X,)),
    "div": (ops.div, np.divide, (X, Y)),
    "div broadcast": (ops.div, np.divide, (ROW, POSITIVE)),
    "pow": (lambda x: x**3, lambda x: x**3, (X,)),
    "pow of tensors": (ops.pow, np.power, (POSITIVE, Y)),
    "powers": (ops.pow, np.power, (np.array([0.0, 2.0, 3.0]), np.array([2.0, 0.0, -1.0]))),
    "rpow": (lambda x: 2**x, lambda x: 2**x, (X,)),
    "operators": (lambda x, y: -(1 - x) / 2 + 3 * y - x, lambda x, y: -(1 - x) / 2 + 3 * y - x, (X, Y)),
    "negate": (ops.negate, np.negative, (X,)),
    "exp": (ops.exp, np.exp, (X,)),
    "log": (ops.log, np.log, (POSITIVE,)),
    "log2": (ops.log2, np.log2, (POSITIVE,)),
    "sqrt": (ops.sqrt, np.sqrt, (POSITIVE,)),
    # ONNX Runtime has no cosine of float64, and no error function.
    "sin": (ops.sin, np.sin, (X.astype("f4"),)),
    "cos": (ops.cos, np.cos, (X.astype("f4"),)),
    "tanh": (ops.tanh, np.tanh, (X,)),
    "relu": (ops.relu, lambda x: np.maximum(x, 0), (X,)),
    "gelu": (ops.gelu, gelu, (X,)),
    "geluerf": (ops.geluerf, lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))), (X.astype("f4"),)),
    "swish": (ops.swish, lambda x: x / (1 + np.exp(-x)), (X,)),
    "clip": (lambda x: ops.clip(x, -1, 1), lambda x: np.clip(x, -1, 1), (X,)),
    "clip above": (lambda x: ops.clamp(x, max=1), lambda x: np.minimum(x, 1), (X,)),
    "maximum": (ops.maximum, np.maximum, (X, Y)),
    "where": (lambda x, y: ops.where(ops.greater(x, y), x * 2, y), lambda x, y: np.where(x > y, x * 2, y), (X, Y)),
    "where broadcast": (
        lambda x, y: ops.where(popxl.constant([True, False, True]), x, y),
        lambda x, y: np.where([True, False, True], x, y),
        (X, ROW),
    ),
    "cast": (
        lambda x: ops.cast(ops.cast(x, popxl.float32), popxl.float64),
        lambda x: x,
        (X,),
    ),
    "identity": (ops.identity, lambda x: x, (X,)),
    "matmul": (ops.matmul, np.matmul, (X, Y.T)),
    "matmul operator": (lambda x, y: x @ y, np.matmul, (X, Y.T)),
    "matmul batch": (ops.matmul, np.matmul, (CUBE, CUBE[0].T)),
    "matmul broadcast": (ops.matmul, np.matmul, (X, CUBE)),
    "matmul vector": (ops.matmul, np.matmul, (X, ROW)),
    "matmul vector first": (ops.matmul, np.matmul, (ROW, CUBE)),
    "matmul vectors": (ops.matmul, np.matmul, (ROW, ROW + 1)),
    "softmax": (lambda x: ops.softmax(x, -1), softmax, (X,)),
    "softmax of the first axis": (lambda x: ops.softmax(x, 0), lambda x: softmax(x.T).T, (X,)),
    "layer_norm": (ops.layer_norm, layer_norm, (X, ROW, ROW + 1)),
    "transpose": (lambda x: x.T, np.transpose, (CUBE,)),
    "transpose to": (lambda x: ops.transpose(x, (1, 2, 0)), lambda x: x.transpose(1, 2, 0), (CUBE,)),
    "reshape": (lambda x: x.reshape((4, -1)), lambda x: x.reshape(4, -1), (CUBE,)),
    "flatten": (ops.flatten, np.ravel, (X,)),
    "squeeze": (lambda x: ops.squeeze(x.reshape((1, 6, 1))), np.ravel, (X,)),
    "concat": (lambda x, y: ops.concat([x, y, x], axis=1), lambda x, y: np.concatenate([x, y, x], 1), (X, Y)),
    "split": (lambda x: list(ops.split(x, [1, 2], axis=1)), lambda x: list(np.split(x, [1], axis=1)), (X,)),
    "slice": (lambda x: x[1:, :2], lambda x: x[1:, :2], (CUBE,)),
    "slice with steps": (lambda x: x[:, ::-2, 3:0:-1], lambda x: x[:, ::-2, 3:0:-1], (CUBE,)),
    "item": (lambda x: x[1, -1], lambda x: x[1, -1], (CUBE,)),
    "diag": (lambda x: (x @ x.T).diag(), lambda x: np.diag(x @ x.T), (X,)),
    "subsample": (lambda x: ops.subsample(x, [1, 2, 3]), lambda x: x[:, ::2, ::3], (CUBE,)),
    "gather": (
        lambda x: ops.gather(x, popxl.constant([[2, 0], [2, -1]]), axis=1),
        lambda x: x.take([[2, 0], [2, -1]], 1),
        (CUBE,),
    ),
    "indices": (lambda x: x[[1, 1, 0]], lambda x: x[[1, 1, 0]], (CUBE,)),
    "mask": (lambda x: x[np.array([True, False, True])], lambda x: x * [1, 0, 1], (X,)),
    "sum": (ops.sum, np.sum, (CUBE,)),
    "sum of axes": (lambda x: ops.sum(x, (0, -1), True), lambda x: x.sum((0, 2), keepdims=True), (CUBE,)),
    "mean": (lambda x: ops.mean(x, 1), lambda x: x.mean(1), (CUBE,)),
    "max": (lambda x: ops.max(x, 1), lambda x: x.max(1), (CUBE,)),
    "min": (lambda x: ops.min(x, (0, 1), True), lambda x: x.min((0, 1), keepdims=True), (CUBE,)),
    "sumsquare": (lambda x: ops.sumsquare(x, 0), lambda x: (x**2).sum(0), (CUBE,)),
    "l1": (lambda x: ops.l1(x, 0), lambda x: np.abs(x).sum(0), (X,)),
    "l2": (lambda x: ops.l2(x, -1), lambda x: np.sqrt((x**2).sum(-1)), (X,)),
    "logsum": (lambda x: ops.logsum(x, 0), lambda x: np.log(x.sum(0)), (POSITIVE,)),
    "logsumexp": (lambda x: ops.logsumexp(x, 1), lambda x: np.log(np.exp(x).sum(1)), (CUBE,)),
    "cumsum": (lambda x: ops.cumsum(x, 1), lambda x: x.cumsum(1), (CUBE,)),
    "nll_loss": (ops.nll_loss, lambda p, labels: nll(p, labels).mean(), (PROBABILITIES, LABELS)),
    "nll_loss of each": (lambda p, y: ops.nll_loss(p, y, reduction="none"), nll, (PROBABILITIES, LABELS)),
    "nll_loss without some": (
        lambda p, y: ops.nll_loss(p, y, ignore_index=0),
        lambda p, labels: nll(p, labels)[0],
        (PROBABILITIES, LABELS),
    ),
    "nll_loss of logarithms": (
        lambda p, y: ops.nll_loss(ops.log(p), y, reduction="sum", log_prob=True),
        lambda p, labels: nll(p, labels).sum(),
        (PROBABILITIES, LABELS),
    ),
    "transposed scalar": (lambda x: ops.transpose(x) * x, lambda x: x * x, (np.array(X[0, 0]),)),
    "scaled_add": (lambda x, y: ops.scaled_add(x, y, 2, -0.5), lambda x, y: 2 * x - 0.5 * y, (X, Y)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_values_and_gradients(name: str) -> None:
    op, expected, arrays = SMOOTH[name]
    values = expected(*arrays)
    values = values if isinstance(values, list) else [values]
    found = run(op, *arrays)
    dtype = arrays[0].dtype
    for one, other in zip(found, values, strict=True):
        assert one.shape == np.shape(other) and one.dtype == dtype
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)
    grads = [np.random.default_rng(at).normal(size=np.shape(v)).astype(dtype) for at, v in enumerate(values)]
    exact = dtype == "float64" and name != "cast"
    expected_grads = numerical_gradients(op, arrays, grads, 1e-6 if exact else 1e-3)
    for one, other in zip(gradients(op, arrays, grads), expected_grads, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5 if exact else 1e-3, atol=1e-7 if exact else 1e-3)


B = np.array([True, True, False])
OTHERS: dict[str, Case] = {
    "ceil": (ops.ceil, np.ceil, (X,)),
    "floor": (ops.floor, np.floor, (X,)),
    "sign": (ops.sign, np.sign, (X,)),
    "fmod": (lambda x, y: x % y, np.fmod, (X, Y)),
    "equal": (ops.equal, np.equal, (X, X[:1])),
    "greater": (ops.greater, np.greater, (X, Y)),
    "and": (lambda x, y: x & y, np.logical_and, (B, B[::-1].copy())),
    "or": (lambda x, y: x | y, np.logical_or, (B, B[::-1].copy())),
    "not": (lambda x: ~x, np.logical_not, (B,)),
    "isnan": (ops.isnan, np.isnan, (np.array([0, np.nan, np.inf]),)),
    "isinf": (ops.isinf, np.isinf, (np.array([0, np.nan, np.inf], "f4"),)),
    "isfinite": (ops.isfinite, np.isfinite, (np.array([0, np.nan, np.inf], "f4"),)),
    "prod": (lambda x: ops.prod(x, 0), lambda x: x.prod(0), (X.astype("f4"),)),
    "argmax": (lambda x: ops.argmax(x, 1), lambda x: x.argmax(1).astype("int32"), (X,)),
    "argmin": (lambda x: ops.argmin(x, 0, True), lambda x: x.argmin(0)[None].astype("int32"), (X,)),
    "topk": (
        lambda x: list(ops.topk(x, 2, 1, True, True)),
        lambda x: [-np.sort(-x, 1)[:, :2], np.argsort(-x, 1)[:, :2].astype("int32")],
        (X,),
    ),
    "onehot": (
        lambda y: ops.onehot(y, popxl.constant(3), popxl.constant([0.0, 2.0]), -1),
        lambda y: 2 * np.eye(3, dtype="float32")[y],
        (LABELS,),
    ),
    "init": (lambda x: x + ops.init(x.shape, x.dtype), lambda x: x, (X,)),
    "float16": (lambda x: ops.gelu(x) @ x.T, lambda x: (gelu(x) @ x.T).astype("f2"), (X.astype("f2"),)),
    "integers": (lambda x: (x + 2) * x - 1, lambda x: (x + 2) * x - 1, (LABELS,)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_values(name: str) -> None:
    op, expected, arrays = OTHERS[name]
    values = expected(*arrays)
    for one, other in zip(run(op, *arrays), values if isinstance(values, list) else [values], strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-3 if one.dtype == "f2" else 1e-7)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("ignore", [None, 0])
def test_nll_loss_with_softmax_grad_is_the_gradient_of_softmax_and_nll_loss(reduction: Any, ignore: int | None) -> None:
    grad = np.array([3.0, 0.5]) if reduction == "none" else np.array(3.0)

    def loss(x: Any, y: Any) -> Any:
        return ops.nll_loss(ops.softmax(x, -1), y, ignore, reduction)

    def with_grad(x: Any, y: Any, g: Any) -> Any:
        return ops.nll_loss_with_softmax_grad(ops.softmax(x, -1), y, g, ignore, reduction)

    value, found = run(with_grad, X, LABELS, grad)
    np.testing.assert_allclose(value, run(loss, X, LABELS)[0], rtol=1e-12)
    np.testing.assert_allclose(found, gradients(loss, [X, LABELS], [grad])[0], rtol=1e-6, atol=1e-12)


def test_a_power_of_zero_is_constant_at_zero() -> None:
    (found,) = gradients(lambda x: x**0, [np.zeros(3)], [np.ones(3)])
    np.testing.assert_array_equal(found, 0)


def test_a_mean_of_no_labels_is_zero() -> None:
    y = np.zeros(2, "int32")
    value, grad = run(lambda p, y: ops.nll_loss_with_softmax_grad(p, y, ignore_index=0), PROBABILITIES, y)
    assert value == 0 and not grad.any()


def test_a_gradient_of_a_gradient() -> None:
    """``x ** 3`` twice differentiated is ``6 x``."""

    def first(x: Any) -> Any:
        graph = popxl.gir().create_graph(lambda x: x * x * x, x)
        info = popxl.transforms.autodiff(graph)
        call = ops.call_with_info(graph, x)
        one = popxl.constant(np.ones(x.shape), x.dtype)
        return ops.call(info.graph, one, inputs_dict=info.inputs_dict(call))

    (found,) = gradients(first, [X], [np.ones(X.shape)])
    np.testing.assert_allclose(found, 6 * X)
