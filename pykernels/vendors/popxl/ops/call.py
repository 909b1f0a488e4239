"""Calls of graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType
from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.graph import Graph
from pykernels.vendors.popxl.op import Op
from pykernels.vendors.popxl.tensor import Tensor

if TYPE_CHECKING:
    from pykernels.vendors.popxl.gradients import Backward
    from pykernels.vendors.popxl.lowering import Lowering, Values

__all__ = ["Call", "CallSiteInfo", "call", "call_with_info", "make_call"]


@dataclass(eq=False, repr=False)
class Call(Op):
    """Calls a graph, once or several times in a row.

    Attributes
    ----------
    caller, graph : Graph
        The graph that calls, and the one that is called, whose inputs and outputs are in the order of the op's.
    count : int
        Of several times: the outputs of one are the first inputs of the next.
    modified : set of Tensor
        The inputs of the graph that are changed in place for the caller as well.
    """

    caller: Graph
    graph: Graph
    count: int
    modified: set[Tensor]

    def lower(self, lowering: Lowering, values: Values) -> None:
        """As `Op.lower`."""
        from pykernels.vendors.popxl.lowering import Values

        given = values.names(self.inputs)
        for _ in range(self.count):
            inner = Values(lowering)
            inner.set(self.graph.inputs, given)
            lowering.graph(self.graph, inner)
            returned = inner.names(self.graph.outputs)
            after = inner.names(self.graph.inputs)
            kept = [new if t in self.modified else old for t, new, old in zip(self.graph.inputs, after, given)]
            given = [*returned[: len(kept)], *kept[len(returned) :]] if self.count > 1 else kept
        for parent, t, value in zip(self.inputs, self.graph.inputs, kept):
            if t in self.modified:
                values.set([parent], [value])
        values.set(self.outputs, returned)

    def gradient(self, backward: Backward, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """As `Op.gradient`."""
        if self.count > 1:
            raise backward.no_gradient(self)
        return backward.call(self, grads)

    def written(self) -> list[Tensor]:
        """As `Op.written`."""
        return [parent for parent, t in zip(self.inputs, self.graph.inputs) if t in self.modified]

    def add_output(self, t: Tensor) -> None:
        """An output for one that the graph has got after the call was made."""
        self.outputs.append(self.caller.new_tensor(t.name, t.shape, t.dtype))


class CallSiteInfo:
    """What a call connects: tensors of the graph that calls (the parent) and of the one that is called."""

    def __init__(self, op: Call) -> None:
        self._op = op

    @property
    def called_graph(self) -> Graph:
        """The graph that is called."""
        return self._op.graph

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that the parent gives."""
        return tuple(self._op.inputs)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors that the parent gets."""
        return tuple(self._op.outputs)

    def parent_input(self, idx: int) -> Tensor:
        """An input, by its position."""
        return self._op.inputs[idx]

    def parent_output(self, idx: int) -> Tensor:
        """An output, by its position."""
        return self._op.outputs[idx]

    def graph_to_parent_input_index(self, idx: int) -> int:
        """The same: inputs are in one order."""
        return idx

    parent_to_graph_input_index = graph_to_parent_output_index = graph_to_parent_input_index
    parent_to_graph_output_index = graph_to_parent_input_index

    def graph_to_parent(self, graph_tensor: Tensor) -> Tensor:
        """The parent's tensor for an input or output of the called graph.

        Raises
        ------
        CallError
            It is neither.
        """
        graph = self.called_graph
        for tensors, parents in ((graph.inputs, self.inputs), (graph.outputs, self.outputs)):
            if graph_tensor in tensors:
                return parents[tensors.index(graph_tensor)]
        raise CallError(f"graph_to_parent: {graph_tensor!r} is neither an input nor an output of {graph!r}")

    def parent_to_graph(self, parent_tensor: Tensor) -> Tensor:
        """The called graph's input for a tensor of the parent; the first, where it is given for several.

        Raises
        ------
        CallError
            It is given for none.
        """
        if parent_tensor not in self.inputs:
            raise CallError(f"parent_to_graph: {parent_tensor!r} is not given to {self.called_graph!r}")
        return self.called_graph.inputs[self.inputs.index(parent_tensor)]

    def set_parent_input_modified(self, parent_tensor: Tensor, infer_modified_regions: bool = False) -> None:
        """What the called graph does to this input in place is done to the parent's tensor.

        Raises
        ------
        CallError
            It is given for no input.
        """
        self._op.modified.add(self.parent_to_graph(parent_tensor))


def call(
    graph: Graph, *inputs: Tensor | Iterable[Tensor], inputs_dict: Mapping[Tensor, Any] | None = None
) -> tuple[Tensor, ...]:
    """Call a graph; returns its outputs. Parameters and errors are those of `call_with_info`."""
    return call_with_info(graph, *inputs, inputs_dict=inputs_dict).outputs


@op_debug_context("call")
def call_with_info(
    graph: Graph,
    *inputs: Tensor | Iterable[Tensor],
    inputs_dict: Mapping[Tensor, Any] | None = None,
    check_inputs: bool = True,
) -> CallSiteInfo:
    """Call a graph.

    Parameters
    ----------
    graph : Graph
    *inputs : Tensor, array, number, or iterable of these
        For the first inputs of the graph.
    inputs_dict : mapping, optional
        For others: what the parent gives by inputs of the graph.
    check_inputs : bool
        Whether an input that is not given is an error now; it is one in a session anyway.

    Raises
    ------
    RuntimeError, TypeError
        No graph has been chosen; `graph` is none.
    CallError
        There are too many inputs or too few, one is given twice, one is of another graph, shape or dtype.
    """
    return make_call(graph, inputs, inputs_dict, check_inputs, 1)


def make_call(
    graph: Graph,
    inputs: Iterable[Any],
    inputs_dict: Mapping[Tensor, Any] | None,
    check_inputs: bool,
    count: int,
) -> CallSiteInfo:
    """Append a `Call`; parameters and errors are those of `call_with_info`, and how often it is to be made."""
    context = get_current_context()
    parent = context.graph
    if not isinstance(graph, Graph):
        raise WrongType(f"{context.op_name}: {graph!r} is no popxl.Graph")
    if graph.ir is not parent.ir or graph is parent.ir.main_graph or graph in context._graphs:
        raise CallError(f"{context.op_name}: {graph!r} cannot be called in {parent!r}")
    given = _given(context.op_name, graph, inputs, inputs_dict or {})
    missing = [t for t in graph.inputs if t not in given]
    if missing and check_inputs:
        raise CallError(f"{context.op_name}: nothing is given for these inputs of {graph!r}: {missing}")
    tensors = [_tensor(context.op_name, parent, t, given.get(t)) for t in graph.inputs]
    settings = context._get_op_settings(context.op_name)
    outputs = [parent.new_tensor(t.name, t.shape, t.dtype) for t in graph.outputs]
    op = Call(settings.name, tensors, outputs, parent, graph, count, set(graph._by_ref_inputs))
    graph._calls.append(op)
    parent.add_op(op)
    context._op_created(op)
    return CallSiteInfo(op)


def _given(op: str, graph: Graph, inputs: Iterable[Any], inputs_dict: Mapping[Tensor, Any]) -> dict[Tensor, Any]:
    """What is given for each input."""
    flat = [each for given in inputs for each in (given if isinstance(given, (list, tuple)) else [given])]
    if len(flat) > len(graph.inputs):
        raise CallError(f"{op}: {len(flat)} inputs are given, but {graph!r} has {len(graph.inputs)}: {graph.inputs}")
    given = dict(zip(graph.inputs, flat))
    for t, value in inputs_dict.items():
        if t not in graph.inputs:
            raise CallError(f"{op}: inputs_dict has {t!r}, which is no input of {graph!r}")
        if t in given:
            raise CallError(f"{op}: {t!r} is given twice: by its position and in inputs_dict")
        given[t] = value
    return given


def _tensor(op: str, parent: Graph, t: Tensor, value: Any) -> Tensor:
    """The parent's tensor for an input."""
    if value is None:
        return t  # not given; an error as soon as its value is needed
    tensor = t._ensure_tensor(value)
    parent.check_holds(**{t.name: tensor})
    if tensor.spec != t.spec:
        raise CallError(f"{op}: {tensor!r} is given for {t!r}; shape and dtype must be the same")
    return tensor
