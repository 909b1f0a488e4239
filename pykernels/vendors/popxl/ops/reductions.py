"""Define reductions, which combine the elements along some or all axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pykernels.vendors.popxl.context import get_current_context, named_op, op_debug_context
from pykernels.vendors.popxl.dtypes import DTYPES
from pykernels.vendors.popxl.nodes import cast, integers, node, nodes
from pykernels.vendors.popxl.ops import elementwise
from pykernels.vendors.popxl.ops.utils import handle_axes, handle_negative_axis
from pykernels.vendors.popxl.tensor import Tensor

Axes = int | Iterable[int] | None


def _reduction(name: str, type_: str, what: str) -> Callable[..., Tensor]:
    def op(t: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
        get_current_context().graph.check_holds(t=t)
        axes = handle_axes(t, axis)
        if not axes:
            return elementwise.identity(t)
        return node(type_, t, integers(*axes), keepdims=int(keepdims))

    doc = f"Return {what} along the given axes, by default all; CallError if the tensor lacks one."
    return named_op(name, doc, op)


def _derived(name: str, what: str, compute: Callable[[Tensor, Axes, bool], Tensor]) -> Callable[..., Tensor]:
    def op(t: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return compute(t, axis, keepdims)

    return named_op(name, f"Return {what} along the given axes, by default all.", op)


def _arg(name: str, type_: str, what: str) -> Callable[..., Tensor]:
    def op(t: Tensor, dim: int = 0, keepdim: bool = False) -> Tensor:
        get_current_context().graph.check_holds(t=t)
        found = node(type_, t, axis=handle_negative_axis(t, dim), keepdims=int(keepdim))
        return cast(found, DTYPES["int32"])

    return named_op(name, f"Return the index of {what} element along an axis, as int32.", op)


logsumexp = _reduction("logsumexp", "ReduceLogSumExp", "the logarithm of the sum of the exponentials")
max = _reduction("max", "ReduceMax", "the greatest element")
mean = _reduction("mean", "ReduceMean", "the mean")
min = _reduction("min", "ReduceMin", "the least element")
prod = _reduction("prod", "ReduceProd", "the product")
sum = _reduction("sum", "ReduceSum", "the sum")

l1 = _derived("l1", "the sum of the absolute values", lambda t, *how: sum(elementwise.abs(t), *how))
l2 = _derived("l2", "the square root of the sum of the squares", lambda t, *how: elementwise.sqrt(sum(t * t, *how)))
logsum = _derived("logsum", "the logarithm of the sum", lambda t, *how: elementwise.log(sum(t, *how)))
sumsquare = _derived("sumsquare", "the sum of the squares", lambda t, *how: sum(t * t, *how))

argmax = _arg("argmax", "ArgMax", "the greatest")
argmin = _arg("argmin", "ArgMin", "the least")


@op_debug_context
def cumsum(t: Tensor, dim: int = 0) -> Tensor:
    """Return the cumulative sums along an axis."""
    get_current_context().graph.check_holds(t=t)
    return node("CumSum", t, integers(handle_negative_axis(t, dim)), reverse=0)


@op_debug_context
def topk(
    t: Tensor, k: int, axis: int, largest: bool, sorted: bool, available_memory_proportion: float | None = None
) -> tuple[Tensor, Tensor]:
    """Return the `k` greatest or least elements along an axis, and their indices as int32."""
    get_current_context().graph.check_holds(t=t)
    at = handle_negative_axis(t, axis)
    values, indices = nodes("TopK", [t, integers(k)], 2, axis=at, largest=int(largest), sorted=int(sorted))
    return values, cast(indices, DTYPES["int32"])
