"""Ops that layers of networks consist of."""

from __future__ import annotations

from typing import Any

from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.dtypes import dtype
from pykernels.vendors.popxl.nodes import node
from pykernels.vendors.popxl.ops import elementwise, reductions
from pykernels.vendors.popxl.ops.utils import check_like, handle_negative_axis
from pykernels.vendors.popxl.tensor import Tensor

__all__ = ["layer_norm", "matmul", "softmax"]


@op_debug_context
def matmul(
    lhs: Tensor,
    rhs: Tensor,
    available_memory_proportion: float | None = None,
    output_type: dtype | None = None,
    partials_type: Any = None,
) -> Tensor:
    """The matrix product, as ``numpy.matmul``.

    Parameters
    ----------
    lhs, rhs : Tensor
    available_memory_proportion, partials_type
        Without effect: for an IPU.
    output_type : dtype, optional
        To which the product is cast.
    """
    check_like(lhs=lhs, rhs=rhs)
    product = node("MatMul", lhs, rhs)
    return product if output_type is None else elementwise.cast(product, output_type)


@op_debug_context
def softmax(t: Tensor, axis: int) -> Tensor:
    """The exponentials, divided by their sum along an axis."""
    get_current_context().graph.check_holds(t=t)
    return node("Softmax", t, axis=handle_negative_axis(t, axis))


@op_debug_context
def layer_norm(t: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Elements with the mean 0 and the variance 1 along the last axis, times `weight`, plus `bias`."""
    check_like(t=t, weight=weight, bias=bias)
    centred = t - reductions.mean(t, -1, True)
    variance = reductions.mean(centred * centred, -1, True)
    return centred / elementwise.sqrt(variance + eps) * weight + bias
