"""Automatic differentiation: a graph that computes the gradients of another one's inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType
from pykernels.vendors.popxl.context import op_debug_context
from pykernels.vendors.popxl.gradients import Backward, zeros
from pykernels.vendors.popxl.graph import Graph
from pykernels.vendors.popxl.nodes import node
from pykernels.vendors.popxl.op import Op
from pykernels.vendors.popxl.ops.call import Call, CallSiteInfo, call
from pykernels.vendors.popxl.tensor import Constant, Tensor, constant, graph_input, graph_output
from pykernels.vendors.popxl.transforms.grad_graph_info import (
    ExpectedConnection,
    ExpectedConnectionType,
    GradGraphInfo,
)

__all__ = ["ExpectedConnection", "ExpectedConnectionType", "GradGraphInfo", "autodiff"]


@op_debug_context
def autodiff(
    graph: Graph,
    grads_provided: Iterable[Tensor] | None = None,
    grads_required: Iterable[Tensor] | None = None,
    called_graphs_grad_info: Mapping[Graph, GradGraphInfo] | None = None,
    return_all_grad_graphs: bool = False,
) -> GradGraphInfo | dict[Graph, GradGraphInfo]:
    """A graph that computes gradients.

    Every op adds the ops of its own gradient. What these need of the forward graph become outputs of it, and of
    the calls that are there; graphs that it calls are differentiated as well.

    Parameters
    ----------
    graph : Graph
        The forward graph.
    grads_provided : iterable of Tensor, optional
        The outputs whose gradients are given; all without it.
    grads_required : iterable of Tensor, optional
        The inputs whose gradients are wanted; all without it.
    called_graphs_grad_info : mapping, optional
        Of graphs that are called, the gradient graphs to use.
    return_all_grad_graphs : bool
        Whether the gradient graphs of the graphs that are called are returned as well.

    Returns
    -------
    GradGraphInfo, or dict of GradGraphInfo by forward graph

    Raises
    ------
    TypeError, CallError
        `graph` is no graph, or the main graph; a tensor is none of its outputs or inputs; an op on the way has no
        gradient; an input has no gradient; something on the way is changed in place.
    """
    if not isinstance(graph, Graph):
        raise WrongType(f"autodiff: {graph!r} is no popxl.Graph")
    if graph is graph.ir.main_graph:
        raise CallError("autodiff: the main graph cannot be differentiated; make a graph of it with ir.create_graph")
    provided = list(graph.outputs if grads_provided is None else grads_provided)
    required = list(graph.inputs if grads_required is None else grads_required)
    for tensors, known, what in (
        (provided, graph.outputs, "grads_provided has {!r}, which is no output of {!r}"),
        (required, graph.inputs, "grads_required has {!r}, which is no input of {!r}"),
    ):
        for tensor in tensors:
            if tensor not in known:
                raise CallError(f"autodiff: {what.format(tensor, graph)}")
            if not tensor.dtype.is_floating_point:
                raise CallError(
                    f"autodiff: {tensor!r} has no gradient: its elements are no floating point numbers. Say with "
                    "grads_provided and grads_required which gradients are there and wanted"
                )
    infos = dict(called_graphs_grad_info or {})
    infos[graph] = _Differentiation(graph, provided, required, infos).run()
    return infos if return_all_grad_graphs else infos[graph]


class _Differentiation(Backward):
    """One graph's."""

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
            [
                *(ExpectedConnection(grad_of, t) for t in self._provided),
                *(ExpectedConnection(fwd, t) for t in self._activations),
            ],
            [ExpectedConnection(grad_of, t) for t in self._required],
        )

    def _check_changes(self) -> None:
        """Raise where a gradient would have to go through a change in place."""
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

    def call(self, op: Call, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
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
    """The tensors of a graph that depend on these, as far as gradients go."""
    dependent = set(tensors)
    for op in graph.ops:
        if op.passes_gradients and not dependent.isdisjoint(op.inputs):
            dependent.update(t for t in op.outputs if t.dtype.is_floating_point)
    return dependent


def _reaches(graph: Graph, start: Tensor, ends: Iterable[Tensor]) -> bool:
    """Whether one of `ends` depends on `start`."""
    return not _dependent(graph, [start]).isdisjoint(ends)
