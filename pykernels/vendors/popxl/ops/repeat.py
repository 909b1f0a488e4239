"""Graphs that are called several times in a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.context import op_debug_context
from pykernels.vendors.popxl.graph import Graph
from pykernels.vendors.popxl.ops.call import CallSiteInfo, make_call
from pykernels.vendors.popxl.tensor import Tensor

__all__ = ["repeat", "repeat_with_info"]


def repeat(
    graph: Graph,
    repeat_count: int,
    *inputs: Tensor | Iterable[Tensor],
    inputs_dict: Mapping[Tensor, Any] | None = None,
) -> tuple[Tensor, ...]:
    """Call a graph several times; parameters and errors are those of `repeat_with_info`."""
    return repeat_with_info(graph, repeat_count, *inputs, inputs_dict=inputs_dict).outputs


@op_debug_context("repeat")
def repeat_with_info(
    graph: Graph,
    repeat_count: int,
    *inputs: Tensor | Iterable[Tensor],
    inputs_dict: Mapping[Tensor, Any] | None = None,
    check_inputs: bool = True,
) -> CallSiteInfo:
    """Call a graph several times: the outputs of one call are the first inputs of the next.

    The model that runs has the graph's nodes as often as it is repeated.

    Parameters
    ----------
    graph : Graph
        With as many inputs as outputs or more.
    repeat_count : int
    *inputs, inputs_dict, check_inputs
        As for `call_with_info`.

    Raises
    ------
    RuntimeError, TypeError, CallError
        As `call_with_info`; outputs are more than inputs, or unlike them; the count is not positive.
    """
    if not isinstance(repeat_count, int) or repeat_count < 1:
        raise CallError(f"repeat: repeat_count is {repeat_count!r}; it must be a positive integer")
    for at, (t, output) in enumerate(zip(graph.inputs, graph.outputs)):
        if t.spec != output.spec:
            raise CallError(f"repeat: output {at} of {graph!r} is {output!r}, which cannot become its input {t!r}")
    if len(graph.outputs) > len(graph.inputs):
        raise CallError(f"repeat: {graph!r} has {len(graph.outputs)} outputs, but only {len(graph.inputs)} inputs")
    return make_call(graph, inputs, inputs_dict, check_inputs, repeat_count)
