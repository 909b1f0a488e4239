"""Ops that compute one element of many, along some axes or all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.dtypes import DTYPES
from pykernels.vendors.popxl.nodes import integers, node, nodes
from pykernels.vendors.popxl.ops import elementwise
from pykernels.vendors.popxl.ops.utils import handle_axes, handle_negative_axis
from pykernels.vendors.popxl.tensor import Tensor

__all__ = [
    *("argmax", "argmin", "cumsum", "l1", "l2", "logsum", "logsumexp", "max", "mean", "min", "prod", "sum"),
    *("sumsquare", "topk"),
]

Axes = int | Iterable[int] | None


class Reduction(Protocol):
    """A reduction of a tensor."""

    def __call__(self, t: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor: ...


def _reduction(name: str, type_: str, what: str) -> Reduction:
    @op_debug_context(name)
    def op(t: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
        get_current_context().graph.check_holds(t=t)
        axes = handle_axes(t, axis)
        if not axes:
            return elementwise.identity(t)
        return node(type_, t, integers(*axes), keepdims=int(keepdims))

    op.__name__ = op.__qualname__ = name
    op.__doc__ = f"{what} along some axes, all without any; CallError if there is no such axis."
    return op


logsumexp = _reduction("logsumexp", "ReduceLogSumExp", "The logarithm of the sum of the exponentials")
max = _reduction("max", "ReduceMax", "The greatest element")
mean = _reduction("mean", "ReduceMean", "The mean")
min = _reduction("min", "ReduceMin", "The least element")
prod = _reduction("prod", "ReduceProd", "The product")
sum = _reduction("sum", "ReduceSum", "The sum")


@op_debug_context
def l1(t: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The sum of the absolute values along some axes, all without any."""
    return sum(elementwise.abs(t), axis, keepdims)


@op_debug_context
def l2(t: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The square root of the sum of the squares along some axes, all without any."""
    return elementwise.sqrt(sum(t * t, axis, keepdims))


@op_debug_context
def sumsquare(t: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The sum of the squares along some axes, all without any."""
    return sum(t * t, axis, keepdims)


@op_debug_context
def logsum(t: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The logarithm of the sum along some axes, all without any."""
    return elementwise.log(sum(t, axis, keepdims))


@op_debug_context
def argmax(t: Tensor, dim: int = 0, keepdim: bool = False) -> Tensor:
    """The index of the greatest element along an axis, as int32."""
    return _arg("ArgMax", t, dim, keepdim)


@op_debug_context
def argmin(t: Tensor, dim: int = 0, keepdim: bool = False) -> Tensor:
    """The index of the least element along an axis, as int32."""
    return _arg("ArgMin", t, dim, keepdim)


@op_debug_context
def cumsum(t: Tensor, dim: int = 0) -> Tensor:
    """The sums of the elements up to each one along an axis."""
    get_current_context().graph.check_holds(t=t)
    return node("CumSum", t, integers(handle_negative_axis(t, dim)), reverse=0)


@op_debug_context
def topk(
    t: Tensor,
    k: int,
    axis: int,
    largest: bool,
    sorted: bool,
    available_memory_proportion: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The `k` greatest or least elements along an axis, and their indices as int32."""
    get_current_context().graph.check_holds(t=t)
    at = handle_negative_axis(t, axis)
    values, indices = nodes("TopK", [t, integers(k)], 2, axis=at, largest=int(largest), sorted=int(sorted))
    return values, elementwise.cast(indices, DTYPES["int32"])


def _arg(type_: str, t: Tensor, dim: int, keepdim: bool) -> Tensor:
    get_current_context().graph.check_holds(t=t)
    found = node(type_, t, axis=handle_negative_axis(t, dim), keepdims=int(keepdim))
    return elementwise.cast(found, DTYPES["int32"])
