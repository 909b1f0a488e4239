"""Check and convert the arguments of ops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.context import get_current_context
from pykernels.vendors.popxl.dtypes import dtype
from pykernels.vendors.popxl.graph import Graph
from pykernels.vendors.popxl.nodes import cast
from pykernels.vendors.popxl.tensor import Tensor


def check_in_graph(graph: Graph, **tensors: Any) -> None:
    """Raise TypeError or CallError, with the argument's name, unless all arguments are tensors of the graph."""
    graph.check_holds(**tensors)


def check_like(**tensors: Tensor) -> None:
    """Raise an error, with the arguments' names, unless all are tensors of the current graph with the same dtype."""
    context = get_current_context()
    context.graph.check_holds(**tensors)
    if len({tensor.dtype for tensor in tensors.values()}) > 1:
        given = ", ".join(f"{name} is {tensor.dtype}" for name, tensor in tensors.items())
        raise CallError(f"{context.op_name}: {given}; they must have one dtype, which ops.cast can give them")


def cast_if_needed(t: Tensor, data_type: dtype) -> Tensor:
    """Return `t` converted to a dtype, or `t` itself if it has that dtype."""
    return t if t.dtype is data_type else cast(t, data_type)


def handle_negative_axis(t: Tensor, axis: int) -> int:
    """Return the axis counted from the front; raise CallError if the tensor lacks it."""
    if not -t.rank <= axis < t.rank:
        raise CallError(f"{get_current_context().op_name}: {t!r} has {t.rank} axes, and no axis {axis}")
    return axis % t.rank


def handle_axes(t: Tensor, axes: int | Iterable[int] | None) -> Sequence[int]:
    """Return the sorted axes counted from the front, by default all; raise CallError for a repeated axis."""
    if axes is None:
        return range(t.rank)
    given = [axes] if isinstance(axes, int) else list(axes)
    found = sorted({handle_negative_axis(t, axis) for axis in given})
    if len(found) != len(given):
        raise CallError(f"{get_current_context().op_name}: one axis is given twice in {given}")
    return found
