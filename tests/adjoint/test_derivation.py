"""Derived gradients: their code, and their values beside finite differences."""

# The functions that are derived are written as kernels are, without types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from gradients import H, array, check, defined

import pykernels
from pykernels.adjoint.derivation import Call, derive_gradient
from pykernels.base.errors import KernelError
from pykernels.kernel.expression.operations import OPERATIONS

scipy_special = pytest.importorskip("scipy.special")
# ---- the operations table


def _function(name: str) -> Any:
    return getattr(scipy_special if OPERATIONS[name].module == "scipy.special" else np, name)


SLOPES = [name for name, row in OPERATIONS.items() if row.slopes and set(row.slopes) != {"0"}]


@pytest.mark.parametrize("name", SLOPES)
def test_the_slopes_of_an_operation_are_finite_differences(name: str) -> None:
    module = "scipy.special" if OPERATIONS[name].module == "scipy.special" else "np"
    shift = " + 1" if name == "arccosh" else ""
    several = len(OPERATIONS[name].slopes) > 1
    condition = "x > w, " if name == "where" else ""
    call = f"{module}.{name}({condition}x{shift}{', w' if several else ''})"
    function = defined(f"def forward(args):\n    x, w = args\n    return {call}\n")
    calls = [([array(3), array(3)], {}), ([array(2, 3), array(2, 3)], {})]
    check(function, ["x", "w"], *calls)


def test_all_operations_but_those_of_bits_have_slopes() -> None:
    without = {name for name, row in OPERATIONS.items() if row.module and not row.slopes}
    names = "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift logical_and logical_or logical_xor"
    more = "logical_not equal not_equal less less_equal greater greater_equal isnan isinf isfinite signbit"
    assert without == {*names.split(), *more.split(), "floor_divide"}


# ---- functions of arrays

# By name: the arguments, the expression, and what the arguments are.
EXPRESSIONS: dict[str, tuple[str, list[np.ndarray]]] = {
    "sum": ("x.sum() * w", [array(3, 4), array(2)]),
    "sum axis": ("np.sum(x * w, axis=1) ** 2", [array(3, 4), array(4)]),
    "sum axes": ("np.exp(x).sum(axis=(0, 2), keepdims=True) * x", [array(2, 3, 4)]),
    "mean": ("(x - np.mean(x, axis=-1, keepdims=True)) * w", [array(3, 4), array(3, 1)]),
    "mean axes": ("x.mean(axis=(-1, -2)) ** 2 + x.mean()", [array(2, 3, 4)]),
    "max": ("np.max(x, axis=0) * x + x.min()", [array(3, 4)]),
    "var": ("np.var(x, axis=-1, keepdims=True) * x + x.std(axis=1, keepdims=True)", [array(3, 4)]),
    "prod": ("np.prod(x, axis=0) * w + np.prod(x * (x > 0.5), axis=-1, keepdims=True)", [array(3, 4), array(4)]),
    "prod of all": ("np.prod(x) * x + (x - x[0, 0]).prod(axis=1, keepdims=True)", [array(2, 3)]),
    "norm 1": ("x * np.linalg.norm(x - w, 1, axis=0)", [array(3, 4), array(4)]),
    "norm inf": ("x * np.linalg.norm(x * w, np.inf, axis=1, keepdims=True)", [array(3, 4), array(4)]),
    "norm of a vector": ("np.linalg.norm(x, 2) * np.linalg.norm(x, ord=1) * x", [array(4)]),
    "norm": ("x / np.linalg.norm(x, axis=-1, keepdims=True)", [array(3, 4)]),
    "inv": ("np.linalg.inv(x + 3 * np.eye(3)) * w", [array(2, 3, 3), array(3)]),
    "det": ("np.linalg.det(x + 3 * np.eye(3)) * np.linalg.det(x[0] * w)", [array(2, 3, 3), array(3)]),
    "solve": (
        "np.linalg.solve(x + 3 * np.eye(3), w) * np.linalg.solve(x + 2 * np.eye(3), w[:, 0])[:, None]",
        [array(3, 3), array(3, 2)],
    ),
    "solve of stacks": ("np.linalg.solve(x + 3 * np.eye(3), w) ** 2", [array(2, 3, 3), array(2, 3, 4)]),
    "slogdet": (
        "np.linalg.slogdet(x + np.eye(3))[1] * np.linalg.slogdet(w)[0] * np.linalg.slogdet(x[0] * w + np.eye(3))[1]",
        [array(2, 3, 3), array(3, 3)],
    ),
    "median": (
        "np.median(x, axis=1) * w + np.median(x) * np.median(x, axis=0, keepdims=True)[0, 0]",
        [array(3, 4), array(3)],
    ),
    "diagonals": ("np.diag(x) * np.trace(w) + np.diagonal(w) * np.trace(x)", [array(3, 5), array(3, 3)]),
    "clip": ("np.clip(x, 0.3, 0.6) * x + np.clip(x, None, 0.5)", [array(3, 4)]),
    "matmul": ("(x @ w) ** 2", [array(3, 4), array(4, 2)]),
    "matmul batch": ("np.matmul(x, w) ** 2", [array(2, 3, 4), array(2, 4, 2)]),
    "matmul broadcast": ("np.matmul(x, w) ** 2", [array(2, 1, 3, 4), array(5, 4, 2)]),
    "matmul stack": ("(x @ w) ** 2", [array(3, 4), array(2, 4, 2)]),
    "matmul weight": ("(x @ w) ** 2", [array(2, 3, 4), array(4, 2)]),
    "dot": ("np.dot(x, w) * x", [array(4), array(4)]),
    "matrix vector": ("np.dot(x, w) ** 2", [array(3, 4), array(4)]),
    "vector matrix": ("(x @ w) ** 2", [array(3), array(3, 4)]),
    "einsum": ("np.einsum('bij,bkj->bik', x, w) ** 2", [array(2, 3, 4), array(2, 5, 4)]),
    "transpose": ("x.T * w + np.transpose(x, (1, 0)) ** 2", [array(3, 4), array(4, 3)]),
    "transpose method": ("x.transpose(2, 0, 1) * w", [array(2, 3, 4), array(4, 2, 3)]),
    "swapaxes": ("np.swapaxes(x, 0, -1) * w", [array(2, 3, 4), array(4, 3, 2)]),
    "moveaxis": ("np.moveaxis(x, 0, -1) * w", [array(2, 3, 4), array(3, 4, 2)]),
    "reshape": ("x.reshape(2, -1) * w + np.ravel(x).sum()", [array(3, 4), array(2, 6)]),
    "expand": ("np.expand_dims(x, 1) * w + x[:, None] ** 2", [array(3, 4), array(3, 2, 4)]),
    "squeeze": ("x.max(axis=1, keepdims=True).squeeze(1) * w", [array(3, 4), array(3)]),
    "flip": ("np.flip(x, axis=1) * w + np.flip(x)", [array(3, 4), array(3, 4)]),
    "roll": ("np.roll(x, 2, axis=1) * w + np.roll(x, 1)", [array(3, 4), array(3, 4)]),
    "broadcast_to": ("np.broadcast_to(x, (3, 4)) * w", [array(4), array(3, 4)]),
    "cumsum": ("np.cumsum(x * x, axis=1)", [array(3, 4)]),
    "cumsum without an axis": ("np.cumsum(x) * w + np.add.accumulate(w * w)", [array(4), array(4)]),
    "cumprod": ("np.cumprod(x * x, axis=1) * w + x.cumprod(axis=0)", [array(3, 4), array(4)]),
    "cumprod of zeros": (
        "np.cumprod(x, axis=-1) * w + np.multiply.accumulate(x * w)",
        [array(3, 5) * [[1, 0, 1, 0, 1], [0, 0, 1, 1, 1], [1, 1, 1, 1, 0]], array(3, 5)],
    ),
    "windows": (
        "(np.lib.stride_tricks.sliding_window_view(x, 3, axis=-1) * w).sum(axis=-1) ** 2", [array(2, 5), array(3)]
    ),
    "windows of two axes": ("np.lib.stride_tricks.sliding_window_view(x, (2, 3)) ** 2 * w", [array(4, 5), array(2, 3)]),
    "bincount": ("np.bincount(np.array([2, 0, 2, 5]), x * x, minlength=7) * w", [array(4), array(7)]),
    "polygamma": ("scipy.special.polygamma(1, x) * w + scipy.special.polygamma(2, x * w)", [array(2, 3), array(3)]),
    "triangles": ("np.tril(x) @ np.triu(w, 1)", [array(3, 3), array(3, 3)]),
    "concatenate": ("np.concatenate((x * w, x, w ** 2), axis=0) ** 2", [array(3, 4), array(3, 4)]),
    "concatenate last": ("np.concatenate([x, w], axis=-1) ** 2", [array(3, 4), array(3, 2)]),
    "stack": ("np.stack((x, w * x), axis=1) ** 2", [array(3, 4), array(3, 4)]),
    "slices": ("x[1:, ::2] * w + x[0, 1:3]", [array(3, 4), array(2, 2)]),
    "take": ("x[np.array([0, 2, 2])] ** 2 + np.take(indices=np.array([1, 1, 0]), axis=0, a=x)", [array(3, 4)]),
    "take axes": ("np.take(x, np.array([1, 1, 0]), -1) ** 2 + np.take(x, np.array([1]), 1)", [array(2, 2, 3)]),
    "take of all": ("np.take(x, np.array([[1, 5], [5, 0]])) ** 2", [array(3, 4)]),
    "along an axis of three": ("np.take_along_axis(x, np.array([[[1], [0], [1], [1]]]), 0) ** 2", [array(2, 4, 3)]),
    "along the last of three": (
        "np.take_along_axis(x, np.array([[[1, 1], [0, 2], [1, 0], [1, 2]]]), axis=2) * w",
        [array(2, 4, 3), array(2, 4, 2)],
    ),
    "einsum with broadcasting": ("np.einsum('...ij,...jk->...ik', x, w) ** 2", [array(2, 1, 3, 4), array(5, 4, 2)]),
    "columns": ("x[:, np.array([0, 2, 2])] ** 2", [array(3, 4)]),
    "mask": ("np.where(x > w, x * w, 0).sum(axis=0)", [array(3, 4), array(3, 4)]),
    "astype": ("x.astype(np.float64).copy() ** 2", [array(3, 4)]),
    "softmax": ("scipy.special.softmax(x, axis=-1) * w", [array(3, 4), array(3, 4)]),
    "log_softmax": ("scipy.special.log_softmax(x, axis=0) * w", [array(3, 4), array(3, 4)]),
    "logsumexp": ("scipy.special.logsumexp(x, axis=1) * w", [array(3, 4), array(3)]),
    "logsumexp of all": ("x - scipy.special.logsumexp(x) * w", [array(4), array(4)]),
    "logsumexp of other lines": ("(x - scipy.special.logsumexp(x, axis=1)) * w", [array(3, 3), array(3, 3)]),
    "entropies": ("scipy.special.entr(x) * w + scipy.special.rel_entr(x, w)", [array(3, 4), array(4)]),
    "kl_div": ("scipy.special.kl_div(x, w) * scipy.special.xlog1py(w, x)", [array(3, 4), array(4)]),
    "huber": ("scipy.special.huber(w, x - 0.5) * x + scipy.special.huber(0.3, x * w)", [array(3, 4), array(4)]),
    "pseudo_huber": ("scipy.special.pseudo_huber(w, x) + scipy.special.pseudo_huber(2.0, w)", [array(3, 4), array(4)]),
    "ndtr": ("x * scipy.special.ndtr(x) + scipy.special.log_expit(w)", [array(3, 4), array(4)]),
    "diff": ("np.diff(x) * w + np.diff(x, axis=0).sum()", [array(3, 4), array(3, 3)]),
    "repeat": ("np.repeat(x, 2, axis=-1) * w + np.repeat(x, 3).sum()", [array(3, 4), array(3, 8)]),
    "take_along_axis": ("np.take_along_axis(x, np.array([[1], [-1]]), axis=-1)[:, 0] * w", [array(2, 4), array(2)]),
    "several along an axis": ("np.take_along_axis(x, np.array([[1, 1], [0, 3]]), axis=1) ** 2", [array(2, 4)]),
    "sort": ("np.sort(x, axis=0) * w + np.sort(w)", [array(3, 4), array(3, 4)]),
    "pad": ("np.pad(x, ((0, 0), (1, 2))) ** 2 * w", [array(3, 4), array(3, 7)]),
    "pad edges": ("np.pad(x, ((0, 0), (1, 2)), mode='edge') ** 2 * w", [array(3, 4), array(3, 7)]),
    "pad and wrap": ("np.pad(x, ((2, 1), (1, 3)), 'wrap') * np.pad(x, ((1, 2), (2, 2)), 'reflect')", [array(3, 4)]),
    "stack and vector": ("x @ w + np.dot(x, w * w)", [array(2, 3, 4), array(4)]),
    "diag": ("np.diag(x) * w + np.diag(w * w)[0]", [array(3, 3), array(3)]),
    "heads": ("np.transpose(x.transpose(1, -1, 0) * w, (2, 0, 1)) * x.transpose(0, 1, 2)", [array(2, 3, 3), array(2)]),
    "var axes": ("np.var(x, axis=(0, 2), keepdims=True) * x + x.var(axis=tuple(range(x.ndim)))", [array(2, 3, 4)]),
    "outer": ("np.outer(x, x * w) ** 2", [array(3), array(3)]),
    "axes of length 1": ("x[None] * w[:, None] * x.max(axis=0, keepdims=True)[0]", [array(4), array(4)]),
    "facts": ("x * x.shape[0] / np.sqrt(x.size) + x.ndim", [array(3, 4)]),
    "scalars": ("math.sqrt(2) * x + abs(-x) * np.pi", [array(3, 4)]),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_gradients_of_functions_of_arrays_are_finite_differences(name: str) -> None:
    expression, arrays = EXPRESSIONS[name]
    names = ["x", "w"][: len(arrays)]
    unpacked = "(x,)" if len(arrays) == 1 else "x, w"
    check(defined(f"def forward(args):\n    {unpacked} = args\n    return {expression}\n"), names, (arrays, {}))


# ---- the code that is written


def tanh(args):
    (x,) = args
    return np.tanh(x)


def sigmoid(args):
    (x,) = args
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def softplus(args):
    (x,) = args
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def relu(args):
    (x,) = args
    return np.maximum(x, 0)


def leaky_relu(args, *, alpha):
    (x,) = args
    return np.where(x > 0, x, alpha * x)


def softmax(args, *, axis):
    (x,) = args
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def log_softmax(args):
    (x,) = args
    z = x - x.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def peak(args):
    (x,) = args
    t = np.tanh(x)
    return t.max(axis=-1)


def first_log_probability(args):
    (x,) = args
    z = x - x.max(axis=-1, keepdims=True)
    return (z - np.log(np.exp(z).sum(axis=-1, keepdims=True)))[..., 0]


def dense(args, *, bias):
    data, weight = args
    return data @ weight.T + bias


def layer_norm(args, *, eps):
    x, gamma, beta = args
    centred, rstd = _centred(x, eps)
    return centred * rstd * gamma + beta


def _centred(x, eps):
    """Each row without its mean, and the inverse of its standard deviation."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred, 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)


def rotary(args):
    x, c, s = args
    h = x.shape[-1] // 2
    a, b = x[..., :h], x[..., h:]
    return np.concatenate((a * c - b * s, a * s + b * c), axis=-1)


def mean_and_variance(args):
    (x,) = args
    return x.mean() * x.var(axis=-1, keepdims=True) * x


def log_sum_exp(args):
    (x,) = args
    m = x.max(axis=-1, keepdims=True)
    return np.log(np.exp(x - m).sum(axis=-1)) + m.squeeze(-1)


def swiglu(args):
    (x,) = args
    a, b, c = np.split(x, 3, axis=-1)
    return a / (1 + np.exp(-a)) * b * c


def written_out(args):
    x, w = args
    for weight in (0.5, 2.0):
        x = np.tanh(weight * x)
    for i, part in ((0, x), (1, w)):
        x = x + part[..., i, None]
    for i in range(1, 3):
        x *= w[i]
    return x


def normal_loss(args):
    x, t = args
    v = np.exp(t)
    return t + x * x / v


def two_results(args):
    (x,) = args
    y = x * x
    y += 1
    return y, np.sin(y)


ANY = [([array(3)], {}), ([array(2, 3)], {}), ([array(2, 3, 4)], {})]
FULL = (array(2, 3, 8), array(3, 4), array(3, 4))
CODE = [
    (tanh, ["x"], ANY, "y, dy = args\nreturn dy * (1 - y * y)"),
    (relu, ["x"], ANY, "y, dy = args\nreturn np.where(y > 0, dy, 0)"),
    (sigmoid, ["x"], ANY, "y, dy = args\nreturn dy * y * (1 - y)"),
    (softplus, ["x"], ANY, "y, dy = args\nreturn -(dy * np.expm1(-y))"),
    (
        leaky_relu,
        ["x"],
        [(arrays, {"alpha": 0.1}) for arrays, _ in ANY],
        "x, dy = args\nreturn np.where(x > 0, dy, alpha * dy)",
    ),
    (
        softmax,
        ["x"],
        [(arrays, {"axis": 0}) for arrays, _ in ANY],
        "y, dy = args\nreturn y * (dy - np.sum(dy * y, axis=axis, keepdims=True))",
    ),
    (log_softmax, ["x"], ANY, "y, dy = args\nreturn dy - np.exp(y) * np.sum(dy, axis=-1, keepdims=True)"),
    (log_sum_exp, ["x"], ANY, "x, y, dy = args\nreturn dy[..., None] * np.exp(x - y[..., None])"),
    # Not `x * x / v / v * v`, which is NaN where exp overflows.
    (
        normal_loss,
        ["x", "t"],
        [([array(3), array(3)], {})],
        "x, t, dy = args\nv = np.exp(t)\ndx = 2 * (dy / v) * x\ndt = dy - dy * (x * x / v)\nreturn dx, dt",
    ),
    # Elements are compared with the extreme one of those that are computed, since `y` may be rounded differently.
    (
        peak,
        ["x"],
        [([array(2, 3)], {})],
        "x, dy = args\nt = np.tanh(x)\ncondition = t == t.max(axis=-1)[..., None]\n"
        "product = (1 - t * t) * (dy[..., None] / np.sum(condition, axis=-1, keepdims=True, dtype=t.dtype))\n"
        "return np.where(condition, product, 0)",
    ),
    # Not `np.exp(z - np.log(total))`, which computes two more functions of each element.
    (
        first_log_probability,
        ["x"],
        [([array(2, 3)], {})],
        "x, dy = args\ngradient = np.zeros_like(x)\ngradient[..., 0] = dy\n"
        "z = x - x.max(axis=-1, keepdims=True)\ne = np.exp(z)\n"
        "return gradient - e / e.sum(axis=-1, keepdims=True) * np.sum(gradient, axis=-1, keepdims=True)",
    ),
    (
        dense,
        ["data", "weight"],
        [([array(3, 4), array(2, 4)], {"bias": 1.0})],
        "data, weight, dy = args\nddata = dy @ weight\ndweight = dy.T @ data\nreturn ddata, dweight",
    ),
]


@pytest.mark.parametrize(("function", "inputs", "calls", "code"), CODE, ids=lambda each: getattr(each, "__name__", ""))
def test_code_is_as_a_person_writes_it(function: Any, inputs: list[str], calls: list[Any], code: str) -> None:
    head, *lines = check(function, inputs, *calls).splitlines()
    assert head.startswith("def backward(args")
    assert "\n".join(line.strip() for line in lines) == code


def test_softmax_is_computed_where_its_logarithm_is_no_result() -> None:
    source = "def forward(args):\n    (x,) = args\n    return {}\n"
    for expression, expected in (
        ("scipy.special.logsumexp(x, axis=-1)", "np.exp(x - y[..., None])"),
        ("scipy.special.logsumexp(x, axis=1) ** 2", "scipy.special.softmax(x, axis=1)"),
        ("scipy.special.log_softmax(x, axis=0)", "np.exp(y)"),
        ("scipy.special.log_softmax(x, axis=0) * x", "scipy.special.softmax(x, axis=0)"),
        ("np.exp(x - scipy.special.logsumexp(x, axis=0, keepdims=True))", "product - y * np.sum(product, axis=0"),
    ):
        assert expected in check(defined(source.format(expression)), ["x"], ([array(3, 4)], {}))


def test_gradients_of_functions_with_helpers_slices_and_several_results() -> None:
    parameters = [([array(*shape), array(4), array(4)], {"eps": 1e-5}) for shape in [(4,), (3, 4), (2, 3, 4)]]
    source = check(layer_norm, ["x", "gamma", "beta"], *parameters)
    assert "dbeta = np.sum(dy, axis=tuple(range(x.ndim - 1)))" in source
    assert "np.mean(" in source
    assert "dx = np.concatenate((" in check(rotary, ["x", "c", "s"], (FULL, {}))
    assert "np.concatenate((da, db, dc), axis=-1)" in check(swiglu, ["x"], ([array(6)], {}), ([array(2, 3)], {}))
    check(written_out, ["x", "w"], ([array(4), array(4)], {}))
    assert "dy, dz" in check(two_results, ["x"], *ANY)


def test_gradients_have_the_dtype_of_their_inputs_and_stay_finite() -> None:
    source = check(mean_and_variance, ["x"], ([array(2, 3)], {}))
    namespace: dict[str, Any] = {"np": np}
    exec(source, namespace)
    x = array(2, 300).astype(np.float16)
    assert namespace["backward"]((x, x)).dtype == np.float16
    exec(check(swiglu, ["x"], ([array(6)], {})), namespace)
    with np.errstate(over="ignore"):
        assert np.isfinite(namespace["backward"]((np.full(6, -2000.0), np.ones(2)))).all()


# ---- what has no derived gradient

REFUSED = {
    "if x.ndim > 1:\n        x = -x": "3: an `if` has no derived gradient; write np.where, or `a if condition else b`",
    "x = np.median(x, axis=(0,)) * x": "3: np.median has a derived gradient of all elements, or along an axis",
    "x = np.partition(x, 1)": "3: np.partition has no derived gradient, since it leaves open where elements go",
    "x = np.vdot(x[None], x[None])": "3: np.vdot has a derived gradient of vectors",
    "x = x + np.linalg.eigh(np.outer(x, x))[1][0]": "3: np.linalg.eigh returns several arrays, and has no derived",
    "x = np.repeat(x, (1, 2, 1), axis=0)": "np.repeat has a derived gradient for a number of repeats, along an axis",
    "parts = []; parts.append(x)": "3: a call whose result is not used has no derived gradient; make an array",
    "x = np.split(x, (1, 2))[0]": "3: np.split has a derived gradient for a number of sections",
    "x = np.linalg.norm(np.outer(x, x), 2)": "3: np.linalg.norm has a derived gradient for norms of vectors of orders",
    "x = np.prod(x[:, None], axis=(0, 1))": "3: np.prod has a derived gradient along one axis",
    "x = x + np.take(x, 1, axis=int(x.ndim) - 1)": "np.take has a derived gradient along an axis that is written in",
    "x = np.pad(x, 1, mode='mean')": "np.pad has a derived gradient with a pair of widths for every axis",
    "x = x + np.diag(np.outer(x, x), 1).sum()": "np.diag has a derived gradient for vectors and square matrices",
    "x = np.cumsum(x[None] * x)": "cumsum without an axis has no derived gradient",
    "x = scipy.special.polygamma(x, 1.0)": "polygamma has a derived gradient by its second argument alone",
    "x = np.maximum.accumulate(x)": "np.maximum.accumulate has no derived gradient",
    "x = x + np.stack([x[at] for at in range(3)])": "3: a comprehension over arrays has no derived gradient",
    "x = x.real": "3: the attribute real of an array has no derived gradient",
    "x = x + np.real(1j * x)": "3: 1j * x is complex, and gradients are derived for real numbers alone; write this one",
    "x = x + np.fft.fft(x).real": "3: np.fft.fft(x) is complex, and gradients are derived for real numbers alone",
    "x = np.reshape(x, 7)": "3: np.reshape(x, 7) raises ValueError: cannot reshape array of size 3 into shape",
    "x = undefined(x)": "3: undefined is not defined",
    "x = np.round(x)": "does not depend on x in a way that has a gradient",
    "return x, x": "returns 2 arrays, not one for each of y",
    "pass": "",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_has_no_derived_gradient_is_refused_with_its_line(line: str) -> None:
    function = defined(f"def forward(args):\n    (x,) = args\n    {line}\n    return x\n")
    if not REFUSED[line]:
        derive_gradient(function, ["x"], ["y"], [Call([array(3)], {})])
        return
    with pytest.raises(KernelError, match=re.escape(REFUSED[line])):
        derive_gradient(function, ["x"], ["y"], [Call([array(3)], {})])


def test_complex_arguments_are_refused() -> None:
    function = defined("def forward(args):\n    x, z = args\n    return x * np.abs(z)\n")
    with pytest.raises(KernelError, match="forward: z is complex, and gradients are derived for real numbers alone"):
        derive_gradient(function, ["x", "z"], ["y"], [Call([array(3), array(3) * 1j], {})])


# Each with its slope at 0: on one side of a kink, or of a function that is smooth there.
AT_ZERO = {
    "np.maximum(x, 0)": 0,
    "np.maximum(0, x)": 0,
    "np.abs(x)": 0,
    "np.maximum(x, 0) + 0.1 * np.minimum(x, 0)": 0.1,
    "np.where(x > 0, x, np.expm1(np.minimum(0, x)))": 1,
    "np.maximum(x, 0) + np.log1p(np.exp(-np.abs(2 * x))) / 2": 0.5,
    "np.log1p(np.exp(-np.abs(x))) - np.minimum(x, 0)": -0.5,
}


@pytest.mark.parametrize("expression", AT_ZERO)
def test_slopes_at_kinks(expression: str) -> None:
    function = defined(f"def forward(args):\n    (x,) = args\n    return {expression}\n")
    namespace: dict[str, Any] = {"np": np}
    derived = derive_gradient(function, ["x"], ["y"], [Call([array(3)], {})]).written
    exec(derived.source, namespace)
    x, values = np.zeros(3), {"x": np.zeros(3), "dy": np.ones(3), "y": function((np.zeros(3),))}
    found = namespace["backward"](tuple(values[each] for each in derived.arguments))
    np.testing.assert_allclose(found + x, np.full(3, AT_ZERO[expression]))


def test_a_function_of_a_notebook() -> None:
    def gelu(x, slope=1.702):
        return x / (1 + np.exp(-(slope * x)))

    source = pykernels.derive(gelu)
    assert source.startswith("def gelu_backward(x, dy, *, slope):\n")
    namespace: dict[str, Any] = {"np": np}
    exec(source, namespace)
    x = array(5)
    slopes = (gelu(x + H) - gelu(x - H)) / (2 * H)
    np.testing.assert_allclose(namespace["gelu_backward"](x, np.ones(5), slope=1.702), slopes, rtol=1e-6)


def test_lengths_that_are_equal_in_a_call_by_chance() -> None:
    def running(x, w):
        total = np.zeros_like(w)
        for i in range(len(x)):
            total += w * x[i]
        return total

    namespace: dict[str, Any] = {"np": np}
    exec(pykernels.derive(running, array(3), array(3)), namespace)
    x, w = array(4), array(3)
    dx, dw = namespace["running_backward"](x, w, np.ones(3))
    np.testing.assert_allclose(dx, np.full(4, w.sum()))
    np.testing.assert_allclose(dw, np.full(3, x.sum()))


def test_gradients_of_means_take_empty_arrays() -> None:
    for axes in ("(1, 2)", "tuple(range(1, x.ndim))"):
        function = defined(f"def forward(args):\n    (x,) = args\n    return np.mean(x * x, axis={axes})\n")
        namespace: dict[str, Any] = {"np": np}
        written = derive_gradient(function, ["x"], ["y"], [Call([array(2, 3, 4)], {})]).written
        exec(written.source, namespace)
        empty = {"x": np.ones((0, 3, 0)), "y": np.ones(0), "dy": np.ones(0)}
        assert namespace["backward"](tuple(empty[each] for each in written.arguments)).shape == (0, 3, 0)


def test_the_names_of_results_are_no_parameters() -> None:
    def distance(x, y, dy_):
        return (x - y) ** 2 * dy_

    assert pykernels.derive(distance).startswith("def distance_backward(x, y, dy_, dy__):\n")


def test_a_function_without_source_is_refused() -> None:
    namespace: dict[str, Any] = {}
    exec("def typed(x):\n    return x", namespace)
    for function in (namespace["typed"], lambda x: x):
        with pytest.raises(KernelError, match="has no source to read: define it with `def`"):
            pykernels.derive(function)
