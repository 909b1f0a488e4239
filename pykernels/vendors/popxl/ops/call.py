"""Call graphs, once or several times in a row, and describe the calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType
from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.graph import Call, Graph
from pykernels.vendors.popxl.tensor import Tensor


class CallSiteInfo:
    """A call of a graph, which connects tensors of the calling graph (the parent) and of the called graph."""

    def __init__(self, op: Call) -> None:
        self._op = op

    @property
    def called_graph(self) -> Graph:
        """The called graph."""
        return self._op.graph

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The parent's tensors that are the inputs of the call."""
        return tuple(self._op.inputs)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The parent's tensors that are the outputs of the call."""
        return tuple(self._op.outputs)

    def parent_input(self, idx: int) -> Tensor:
        """Return an input of the call by position."""
        return self._op.inputs[idx]

    def parent_output(self, idx: int) -> Tensor:
        """Return an output of the call by position."""
        return self._op.outputs[idx]

    def graph_to_parent_input_index(self, idx: int) -> int:
        """Return the same index: parent and called graph have the same order."""
        return idx

    parent_to_graph_input_index = graph_to_parent_output_index = graph_to_parent_input_index
    parent_to_graph_output_index = graph_to_parent_input_index

    def graph_to_parent(self, graph_tensor: Tensor) -> Tensor:
        """Return the parent's tensor for an input or output of the called graph; CallError for another tensor."""
        graph = self.called_graph
        for tensors, parents in ((graph.inputs, self.inputs), (graph.outputs, self.outputs)):
            if graph_tensor in tensors:
                return parents[tensors.index(graph_tensor)]
        raise CallError(f"graph_to_parent: {graph_tensor!r} is neither an input nor an output of {graph!r}")

    def parent_to_graph(self, parent_tensor: Tensor) -> Tensor:
        """Return the called graph's input to which a tensor of the parent is passed, the first if there are several.

        Raise CallError if the tensor is not passed to the called graph.
        """
        if parent_tensor not in self.inputs:
            raise CallError(f"parent_to_graph: {parent_tensor!r} is not given to {self.called_graph!r}")
        return self.called_graph.inputs[self.inputs.index(parent_tensor)]

    def set_parent_input_modified(self, parent_tensor: Tensor, infer_modified_regions: bool = False) -> None:
        """Apply the called graph's changes in place of an input to the parent's tensor as well.

        Raise CallError if the tensor is not passed to the called graph.
        """
        self._op.modified.add(self.parent_to_graph(parent_tensor))


def call(
    graph: Graph, *inputs: Tensor | Iterable[Tensor], inputs_dict: Mapping[Tensor, Any] | None = None
) -> tuple[Tensor, ...]:
    """Call a graph and return its outputs; parameters and errors are those of `call_with_info`."""
    return call_with_info(graph, *inputs, inputs_dict=inputs_dict).outputs


@op_debug_context("call")
def call_with_info(
    graph: Graph,
    *inputs: Tensor | Iterable[Tensor],
    inputs_dict: Mapping[Tensor, Any] | None = None,
    check_inputs: bool = True,
) -> CallSiteInfo:
    """Call a graph and return the description of the call.

    Parameters
    ----------
    graph : Graph
    *inputs : Tensor, array, number, or iterable of these
        Values for the first inputs of the graph.
    inputs_dict : mapping, optional
        Values for further inputs, by input of the graph.
    check_inputs : bool
        Whether a missing input is an error now. In a session it always is one.

    Raises
    ------
    RuntimeError
        No graph has been chosen.
    TypeError
        `graph` is not a graph.
    CallError
        There are too many or too few inputs, an input is given twice, or one has another graph, shape or dtype.
    """
    return _append_call(graph, inputs, inputs_dict, check_inputs, 1)


def repeat(
    graph: Graph, repeat_count: int, *inputs: Tensor | Iterable[Tensor], inputs_dict: Mapping[Tensor, Any] | None = None
) -> tuple[Tensor, ...]:
    """Call a graph several times and return its last outputs; for the rest, see `repeat_with_info`."""
    return repeat_with_info(graph, repeat_count, *inputs, inputs_dict=inputs_dict).outputs


@op_debug_context("repeat")
def repeat_with_info(
    graph: Graph,
    repeat_count: int,
    *inputs: Tensor | Iterable[Tensor],
    inputs_dict: Mapping[Tensor, Any] | None = None,
    check_inputs: bool = True,
) -> CallSiteInfo:
    """Call a graph several times, with the outputs of each call as the first inputs of the next.

    The ONNX model contains the graph's nodes once for each repetition.

    Parameters
    ----------
    graph : Graph
        A graph with at least as many inputs as outputs.
    repeat_count : int
    *inputs, inputs_dict, check_inputs
        As for `call_with_info`.

    Raises
    ------
    RuntimeError, TypeError, CallError
        As for `call_with_info`. In addition, CallError if the graph has more outputs than inputs, an output differs
        from the corresponding input in shape or dtype, or `repeat_count` is not a positive integer.
    """
    if not isinstance(repeat_count, int) or repeat_count < 1:
        raise CallError(f"repeat: repeat_count is {repeat_count!r}; it must be a positive integer")
    for at, (t, output) in enumerate(zip(graph.inputs, graph.outputs)):
        if t.spec != output.spec:
            raise CallError(f"repeat: output {at} of {graph!r} is {output!r}, which cannot become its input {t!r}")
    if len(graph.outputs) > len(graph.inputs):
        raise CallError(f"repeat: {graph!r} has {len(graph.outputs)} outputs, but only {len(graph.inputs)} inputs")
    return _append_call(graph, inputs, inputs_dict, check_inputs, repeat_count)


def _append_call(
    graph: Graph, inputs: Iterable[Any], inputs_dict: Mapping[Tensor, Any] | None, check_inputs: bool, count: int
) -> CallSiteInfo:
    """Append a `Call` that runs `count` times; other parameters and errors are those of `call_with_info`."""
    context = get_current_context()
    parent: Graph = context.graph
    if not isinstance(graph, Graph):
        raise WrongType(f"{context.op_name}: {graph!r} is not a popxl.Graph")
    if graph.ir is not parent.ir or graph is parent.ir.main_graph or graph in context._graphs:
        raise CallError(f"{context.op_name}: {graph!r} cannot be called in {parent!r}")
    given = _given(context.op_name, graph, inputs, inputs_dict or {})
    missing = [t for t in graph.inputs if t not in given]
    if missing and check_inputs:
        raise CallError(f"{context.op_name}: nothing is given for these inputs of {graph!r}: {missing}")
    tensors = [_tensor(context.op_name, parent, t, given.get(t)) for t in graph.inputs]
    outputs = [parent.new_tensor(t.name, t.shape, t.dtype) for t in graph.outputs]
    name = context._get_op_settings(context.op_name)
    op = Call(name, tensors, outputs, parent, graph, count, set(graph._by_ref_inputs))
    graph._calls.append(op)
    parent.append(op)
    return CallSiteInfo(op)


def _given(op: str, graph: Graph, inputs: Iterable[Any], inputs_dict: Mapping[Tensor, Any]) -> dict[Tensor, Any]:
    """Return the given values by input of the graph."""
    flat = [each for given in inputs for each in (given if isinstance(given, (list, tuple)) else [given])]
    if len(flat) > len(graph.inputs):
        raise CallError(f"{op}: {len(flat)} inputs are given, but {graph!r} has {len(graph.inputs)}: {graph.inputs}")
    given = dict(zip(graph.inputs, flat))
    for t, value in inputs_dict.items():
        if t not in graph.inputs:
            raise CallError(f"{op}: inputs_dict has {t!r}, which is not an input of {graph!r}")
        if t in given:
            raise CallError(f"{op}: {t!r} is given twice: by its position and in inputs_dict")
        given[t] = value
    return given


def _tensor(op: str, parent: Graph, t: Tensor, value: Any) -> Tensor:
    """Return the parent's tensor for an input of the called graph."""
    if value is None:
        return t  # missing, which is an error as soon as its value is needed
    tensor = t._ensure_tensor(value)
    parent.check_holds(**{t.name: tensor})
    if tensor.spec != t.spec:
        raise CallError(f"{op}: {tensor!r} is given for {t!r}; shape and dtype must be the same")
    return tensor
