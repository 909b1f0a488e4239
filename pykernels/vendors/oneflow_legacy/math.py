"""Define ``flow.math``: functions of tensors with their old names and parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow

from pykernels.vendors.providing import missing

__all__ = ["add_n", "argmax", "reduce_std", "reduce_variance", "sigmoid_grad", "squared_difference"]

_SAME_NAME = (
    *("abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "cos", "cosh", "erf"),
    *("erfc", "exp", "expm1", "floor", "gelu", "greater", "greater_equal", "log", "log1p", "logical_and", "maximum"),
    *("minimum", "negative", "not_equal", "pow", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "sin"),
    *("sinh", "softplus", "sqrt", "square", "tan", "tanh"),
)


def _divide(x: Any, y: Any) -> flow.Tensor:
    """Return the quotient; that of two integer tensors keeps the dtype and is truncated toward zero, as in C++."""
    tensors = [each for each in (x, y) if isinstance(each, flow.Tensor)]
    if len(tensors) < 2 or any(each.dtype.is_floating_point for each in tensors):
        return flow.div(x, y)
    # OneFlow's own integer division, floor_divide, terminates the process at a division by zero.
    return flow.cast(flow.div(flow.cast(x, flow.float64), flow.cast(y, flow.float64)), x.dtype)


#: The functions of current OneFlow versions that compute the same, by old name.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(flow, name) for name in _SAME_NAME},
    "divide": _divide,
    "equal": flow.eq,
    "less": flow.lt,
    "less_equal": flow.le,
    "multiply": flow.mul,
    "sigmoid_v2": flow.sigmoid,
    "subtract": flow.sub,
    "tanh_v2": flow.tanh,
}
_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "reduce_all": flow._C.reduce_all,
    "reduce_any": flow._C.reduce_any,
    "reduce_max": flow.amax,
    "reduce_mean": flow.mean,
    "reduce_min": flow.amin,
    "reduce_prod": flow._C.reduce_prod,
    "reduce_sum": flow.sum,
}


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add an ignored last parameter `name` to a function, as all old ops had it."""

    @functools.wraps(function)
    def call(*args: Any, name: str | None = None, **kwargs: Any) -> Any:
        if args and isinstance(args[-1], str):
            args = args[:-1]
        return function(*args, **kwargs)

    return call


def _reduction(reduce: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(reduce)
    def call(
        x: flow.Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, name: str | None = None
    ) -> flow.Tensor:
        axes = range(x.dim()) if axis is None else [axis] if isinstance(axis, int) else axis
        return reduce(x, list(axes), keepdims)

    return call


globals().update({name: _named(function) for name, function in _FUNCTIONS.items()})
globals().update({name: _reduction(function) for name, function in _REDUCTIONS.items()})


@_reduction
def reduce_variance(x: flow.Tensor, axes: list[int], keepdims: bool) -> flow.Tensor:
    """Return the variance along axes, by default all: the mean of the squared deviations from the mean."""
    return flow.mean(flow.square(x), axes, keepdims) - flow.square(flow.mean(x, axes, keepdims))


@_reduction
def reduce_std(x: flow.Tensor, axes: list[int], keepdims: bool) -> flow.Tensor:
    """Return the standard deviation: the square root of `reduce_variance`."""
    return flow.sqrt(reduce_variance(x, axes, keepdims))


@_named
def argmax(input: flow.Tensor, axis: int = -1) -> flow.Tensor:
    """Return the index of the largest element along an axis."""
    return flow.argmax(input, axis)


@_named
def add_n(inputs: Sequence[flow.Tensor]) -> flow.Tensor:
    """Return the sum of several tensors."""
    return functools.reduce(flow.add, inputs)


@_named
def squared_difference(x: flow.Tensor, y: flow.Tensor) -> flow.Tensor:
    """Return ``(x - y)**2``."""
    return flow.square(x - y)


@_named
def sigmoid_grad(y: flow.Tensor, dy: flow.Tensor) -> flow.Tensor:
    """Return the gradient of sigmoid in terms of its value `y`: ``y * (1 - y) * dy``."""
    return y * (1 - y) * dy


__getattr__ = missing("flow.math", {*_FUNCTIONS, *_REDUCTIONS, *__all__}, __name__)
