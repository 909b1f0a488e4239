"""Differentiate graphs: create a graph that computes the gradients of another graph's inputs."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType
from pykernels.vendors.popxl.context import op_debug_context
from pykernels.vendors.popxl.gradients import GRADIENTS
from pykernels.vendors.popxl.graph import Call, Graph
from pykernels.vendors.popxl.nodes import node, zeros
from pykernels.vendors.popxl.op import Backward, Op
from pykernels.vendors.popxl.ops.call import CallSiteInfo, call
from pykernels.vendors.popxl.tensor import Constant, Tensor, constant, graph_input, graph_output


class ExpectedConnectionType(enum.Enum):
    """The kind of an input or output of a gradient graph."""

    #: The value of a tensor of the forward graph.
    Fwd = "Fwd"
    #: The gradient of a tensor of the forward graph.
    FwdGrad = "FwdGrad"


class ExpectedConnection(NamedTuple):
    """The kind of an input or output of a gradient graph, and the forward tensor that it corresponds to."""

    connection_type: ExpectedConnectionType
    fwd_tensor: Tensor


@dataclass(frozen=True, eq=False)
class GradGraphInfo:
    """A gradient graph and the meaning of its inputs and outputs."""

    graph: Graph
    forward_graph: Graph
    #: What the inputs and outputs of `graph` correspond to. The provided gradients are the first inputs.
    expected_inputs: tuple[ExpectedConnection, ...]
    expected_outputs: tuple[ExpectedConnection, ...]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors of the forward graph that the inputs correspond to."""
        return tuple(each.fwd_tensor for each in self.expected_inputs)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors of the forward graph whose gradients are the outputs."""
        return tuple(each.fwd_tensor for each in self.expected_outputs)

    def inputs_dict(self, fwd_call_info: CallSiteInfo) -> dict[Tensor, Tensor]:
        """Return the activations for `ops.call` of `graph`: the parent's tensors by input of `graph`.

        Parameters
        ----------
        fwd_call_info : CallSiteInfo
            The call of the forward graph.

        Raises
        ------
        TypeError
            The call is one of another graph.
        """
        self._check(fwd_call_info, self.forward_graph)
        return {
            t: fwd_call_info.graph_to_parent(each.fwd_tensor)
            for t, each in zip(self.graph.inputs, self.expected_inputs)
            if each.connection_type is ExpectedConnectionType.Fwd
        }

    def fwd_graph_ins_to_grad_parent_outs(self, grad_call_info: CallSiteInfo) -> dict[Tensor, Tensor]:
        """Return the parent's gradients by input of the forward graph; raise TypeError for a call of another graph."""
        self._check(grad_call_info, self.graph)
        return dict(zip(self.outputs, grad_call_info.outputs))

    def fwd_parent_ins_to_grad_parent_outs(
        self, fwd_call_info: CallSiteInfo, grad_call_info: CallSiteInfo
    ) -> dict[Tensor, Tensor]:
        """Return the gradients by the parent's input of the forward call; raise TypeError if a graph does not match."""
        self._check(fwd_call_info, self.forward_graph)
        grads = self.fwd_graph_ins_to_grad_parent_outs(grad_call_info)
        return {fwd_call_info.graph_to_parent(t): grad for t, grad in grads.items()}

    @staticmethod
    def _check(info: CallSiteInfo, graph: Graph) -> None:
        if info.called_graph is not graph:
            raise WrongType(f"GradGraphInfo: the call is one of {info.called_graph!r}; it must be one of {graph!r}")


@op_debug_context
def autodiff(
    graph: Graph,
    grads_provided: Iterable[Tensor] | None = None,
    grads_required: Iterable[Tensor] | None = None,
    called_graphs_grad_info: Mapping[Graph, GradGraphInfo] | None = None,
    return_all_grad_graphs: bool = False,
) -> GradGraphInfo | dict[Graph, GradGraphInfo]:
    """Differentiate a graph: create a graph that computes the gradients of its inputs.

    Every op appends the ops of its own gradient. The tensors of the forward graph that these need become outputs of
    the forward graph and of its existing calls. Graphs that the forward graph calls are differentiated as well.

    Parameters
    ----------
    graph : Graph
        The forward graph.
    grads_provided : iterable of Tensor, optional
        The outputs whose gradients are given. The default is all outputs.
    grads_required : iterable of Tensor, optional
        The inputs whose gradients are computed. The default is all inputs.
    called_graphs_grad_info : mapping, optional
        The gradient graphs to use for called graphs.
    return_all_grad_graphs : bool
        Whether to return the gradient graphs of called graphs as well.

    Returns
    -------
    GradGraphInfo, or dict of GradGraphInfo by forward graph

    Raises
    ------
    TypeError
        `graph` is not a graph.
    CallError
        `graph` is the main graph; a given tensor is not one of its outputs or inputs; an op has no gradient; no
        gradient reaches an input; or a tensor that the gradients need is changed in place.
    """
    if not isinstance(graph, Graph):
        raise WrongType(f"autodiff: {graph!r} is not a popxl.Graph")
    if graph is graph.ir.main_graph:
        raise CallError("autodiff: the main graph cannot be differentiated; make a graph of it with ir.create_graph")
    provided = list(graph.outputs if grads_provided is None else grads_provided)
    required = list(graph.inputs if grads_required is None else grads_required)
    for tensors, known, what in (
        (provided, graph.outputs, "grads_provided has {!r}, which is not an output of {!r}"),
        (required, graph.inputs, "grads_required has {!r}, which is not an input of {!r}"),
    ):
        for tensor in tensors:
            if tensor not in known:
                raise CallError(f"autodiff: {what.format(tensor, graph)}")
            if not tensor.dtype.is_floating_point:
                raise CallError(
                    f"autodiff: {tensor!r} has no gradient: its elements are not floating point numbers. Say with "
                    "grads_provided and grads_required which gradients are there and wanted"
                )
    infos = dict(called_graphs_grad_info or {})
    infos[graph] = _Differentiation(graph, provided, required, infos).run()
    return infos if return_all_grad_graphs else infos[graph]


class _Differentiation(Backward):
    """The differentiation of one graph, with the gradient graph under construction."""

    node_gradients = GRADIENTS

    def __init__(
        self, graph: Graph, provided: list[Tensor], required: list[Tensor], infos: dict[Graph, GradGraphInfo]
    ) -> None:
        self._forward = graph
        self._provided = provided
        self._required = required
        self._infos = infos
        self.graph = graph.ir.create_empty_graph(f"{graph.name}_grad")
        self._grads: dict[Tensor, Tensor] = {}
        self._activations: dict[Tensor, Tensor] = {}
        self._constants: dict[Constant, Tensor] = {}
        self._dependent = _dependent(graph, required)
        self._written = {t._memory for op in graph.ops for t in op.written()}
        self._check_changes()

    def run(self) -> GradGraphInfo:
        with self.graph:
            for output in self._provided:
                self._add(output, graph_input(output.shape, output.dtype, f"Gradient___{output.name}"))
            for op in reversed(list(self._forward.ops)):
                grads = [self._grads.get(t) for t in op.outputs]
                if not self._dependent.isdisjoint(op.inputs) and any(grad is not None for grad in grads):
                    for t, part in zip(op.inputs, op.gradient(self, grads)):
                        if part is not None and t in self._dependent:
                            self._add(t, part)
            for t in self._required:
                if t not in self._grads:
                    raise CallError(
                        f"autodiff: {t!r} has no gradient: none of {self._provided} depends on it. Leave it out of "
                        "grads_required"
                    )
                graph_output(node("Identity", self._grads[t], name=f"Gradient___{t.name}"))
        fwd, grad_of = ExpectedConnectionType
        return GradGraphInfo(
            self.graph,
            self._forward,
            (
                *(ExpectedConnection(grad_of, t) for t in self._provided),
                *(ExpectedConnection(fwd, t) for t in self._activations),
            ),
            tuple(ExpectedConnection(grad_of, t) for t in self._required),
        )

    def _check_changes(self) -> None:
        """Raise CallError if a gradient would have to pass through a change in place."""
        useful, changed, late = set(self._provided), set[Tensor](), []
        for op in self._forward.ops:
            late += [(op, t) for t in op.read() if t._memory in changed]
            if not self._dependent.isdisjoint(op.inputs):
                changed.update(t._memory for t in op.written())
        for op in reversed(self._forward.ops):
            if not useful.isdisjoint(op.outputs):
                useful.update(op.inputs)
        for t in (*(t for op, t in late if not useful.isdisjoint(op.outputs)), *self._provided):
            if t._memory in changed:
                raise self._changed(t)

    def _changed(self, tensor: Tensor) -> CallError:
        return CallError(
            f"autodiff: {tensor!r} is needed for gradients, but changed in place in {self._forward!r}. Use ops whose "
            "names do not end in _"
        )

    def activation(self, tensor: Tensor) -> Tensor:
        if isinstance(tensor, Constant):
            if tensor not in self._constants:
                self._constants[tensor] = constant(tensor._data, tensor.dtype, tensor.name)
            return self._constants[tensor]
        if tensor not in self._activations:
            if tensor._memory in self._written:
                raise self._changed(tensor)
            if tensor not in (*self._forward.inputs, *self._forward.outputs):
                self._forward.add_output(tensor)
            self._activations[tensor] = graph_input(tensor.shape, tensor.dtype, tensor.name)
        return self._activations[tensor]

    def call(self, op: Op, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        assert isinstance(op, Call)
        called = op.graph
        if called not in self._infos:
            given = [t for t in called.outputs if t.dtype.is_floating_point]
            wanted = [t for t in called.inputs if t.dtype.is_floating_point and _reaches(called, t, given)]
            self._infos[called] = _Differentiation(called, given, wanted, self._infos).run()
        info = self._infos[called]
        by_output = {t: grad for t, grad in zip(called.outputs, grads) if grad is not None}
        asked = [e.fwd_tensor for e in info.expected_inputs if e.connection_type is ExpectedConnectionType.FwdGrad]
        given_grads = [by_output[t] if t in by_output else zeros(t) for t in asked]
        activations = {t: self.activation(parent) for t, parent in info.inputs_dict(CallSiteInfo(op)).items()}
        returned = dict(zip(info.outputs, call(info.graph, *given_grads, inputs_dict=activations)))
        for t, parent in zip(called.inputs, op.inputs):
            lacking = parent in self._dependent and t not in returned and _reaches(called, t, by_output)
            if lacking or not by_output.keys() <= set(asked):
                raise CallError(f"autodiff: {info!r} of called_graphs_grad_info lacks gradients that {op!r} needs")
        return [returned.get(t) for t in called.inputs]

    def no_gradient(self, op: Op) -> CallError:
        return CallError(f"autodiff: {op!r} in {self._forward!r} has no gradient. Use ops.detach where none is to flow")

    def _add(self, t: Tensor, grad: Tensor) -> None:
        self._grads[t] = self._grads[t] + grad if t in self._grads else grad


def _dependent(graph: Graph, tensors: Iterable[Tensor]) -> set[Tensor]:
    """Return the tensors of a graph that depend on these in a way that gradients follow."""
    dependent = set(tensors)
    for op in graph.ops:
        if op.passes_gradients and not dependent.isdisjoint(op.inputs):
            dependent.update(t for t in op.outputs if t.dtype.is_floating_point)
    return dependent


def _reaches(graph: Graph, start: Tensor, ends: Iterable[Tensor]) -> bool:
    """Return whether one of `ends` depends on `start`."""
    return not _dependent(graph, [start]).isdisjoint(ends)
