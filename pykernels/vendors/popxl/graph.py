"""Define graphs, which hold ops and tensors in the order of their creation, and the op that calls a graph."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pykernels.base.errors import CallError
from pykernels.base.refusals import RefusedCall, WrongType
from pykernels.vendors.popxl.context import get_current_context
from pykernels.vendors.popxl.lowering import Lowering, Values
from pykernels.vendors.popxl.op import Backward, Op
from pykernels.vendors.popxl.tensor import Constant, Tensor, Variable

T = TypeVar("T", bound=Tensor)
_handles = itertools.count(1)


class Graph:
    """A graph of an IR, which `Ir.create_graph` or `Ir.create_empty_graph` creates.

    Inside a ``with`` statement of the graph, new ops are appended to it.

    Attributes
    ----------
    ir : Ir
    id, name : str
        Empty for the main graph.
    """

    def __init__(self, ir: Any, name: str) -> None:
        self.ir = ir
        self.id = self.name = name
        self._scope = f"{name}/" if name else ""
        self.ops: list[Op] = []
        self._tensors: dict[str, Tensor] = {}
        self._inputs: list[Tensor] = []
        self._outputs: list[Tensor] = []
        self._by_ref_inputs: set[Tensor] = set()
        self._hooks: dict[int, Callable[[Op], Any]] = {}
        #: The ops that call this graph.
        self._calls: list[Call] = []

    @property
    def _pb_graph(self) -> Graph:
        """The graph itself: wrappers of C++ ops pass this to the functions that the C++ code binds."""
        return self

    @property
    def main_graph(self) -> Graph:
        """The main graph of the IR."""
        main: Graph = self.ir.main_graph
        return main

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The inputs, in the order of a call's arguments."""
        return tuple(self._inputs)

    @property
    def inputs_by_name(self) -> dict[str, Tensor]:
        """The inputs by name."""
        return {t.name: t for t in self._inputs}

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The outputs, in the order of a call's results."""
        return tuple(self._outputs)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors of the graph."""
        return tuple(self._tensors.values())

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables of the graph."""
        return tuple(t for t in self._tensors.values() if isinstance(t, Variable))

    @property
    def constants(self) -> tuple[Constant, ...]:
        """All constants of the graph."""
        return tuple(t for t in self._tensors.values() if isinstance(t, Constant))

    @property
    def called_graphs(self) -> tuple[Graph, ...]:
        """The graphs that ops of this graph call, without duplicates."""
        return tuple(dict.fromkeys(op.graph for op in self.ops if isinstance(op, Call)))

    def get_tensor(self, tensor_id: str) -> Tensor:
        """Return the tensor with this id; raise CallError if there is none."""
        if tensor_id not in self._tensors:
            raise CallError(f"{self!r} has no tensor {tensor_id!r}")
        return self._tensors[tensor_id]

    def register_op_created_hook(self, fn: Callable[[Op], Any]) -> int:
        """Call `fn` with every op created in this graph from now on; return a handle that removes the hook."""
        handle = next(_handles)
        self._hooks[handle] = fn
        return handle

    def remove_op_created_hook(self, handle: int) -> None:
        """Remove the hook that `register_op_created_hook` returned this handle for."""
        if handle not in self._hooks:
            raise CallError(f"popxl: {self!r} has no op-created hook {handle}")
        del self._hooks[handle]

    def check_holds(self, **tensors: Any) -> None:
        """Raise TypeError unless all arguments are tensors, and CallError unless all belong to this graph."""
        op = get_current_context().op_name
        for name, tensor in tensors.items():
            if not isinstance(tensor, Tensor):
                raise WrongType(f"{op}: {name} is {tensor!r}; it must be a popxl.Tensor")
            if tensor._graph is not self:
                where = "the main graph" if not tensor._graph.name else repr(tensor._graph)
                other = " of another popxl.Ir" if tensor.ir is not self.ir else ""
                raise CallError(
                    f"{op}: {name} is {tensor!r} of {where}{other}, but the current graph is {self!r}. Make it an "
                    "input of the current graph, or use its own graph"
                )

    def add_op(self, op: Op) -> None:
        """Append an op whose tensors are in the graph already."""
        self.ir.check_open()
        self.ops.append(op)

    def append(self, op: Op) -> None:
        """Append an op whose tensors are in the graph already, and call the hooks."""
        self.add_op(op)
        self.call_hooks(op)

    def call_hooks(self, op: Op) -> None:
        """Call the hooks of this graph with an op that has just been appended."""
        for fn in list(self._hooks.values()):
            fn(op)

    def lower(self, lowering: Lowering, values: Values) -> None:
        """Append the ONNX nodes of all ops to `lowering`."""
        for op in self.ops:
            op.lower(lowering, values)

    def add_output(self, t: Tensor) -> None:
        """Make a tensor an output, which existing calls of the graph return as well."""
        self._outputs.append(t)
        for call in self._calls:
            call.add_output(t)

    def new_tensor(self, name: str, shape: Any, dtype: Any, *, alias_of: Tensor | None = None) -> Tensor:
        """Return a new tensor for the output of an op, with a unique name derived from `name`."""
        return self._add(Tensor(self, self._create_tensor_id(name), shape, dtype, alias_of=alias_of))

    def _add(self, tensor: T) -> T:
        self.ir.check_open()
        self._tensors[tensor.id] = tensor
        return tensor

    def _create_tensor_id(self, name: str | None = None) -> str:
        """Return an unused tensor id."""
        base = self._scope + get_current_context()._get_op_settings(name or "t")
        unused: str = self.ir.unique(base, "{}__t{}")
        return unused

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, Tensor):
            raise WrongType(f"{value!r} is not a popxl.Tensor")
        return value._graph is self

    def __enter__(self) -> Graph:
        graphs = get_current_context()._graphs
        if graphs and graphs[0].ir is not self.ir:
            raise RefusedCall(f"`with` of {self!r} is inside of `with` of {graphs[-1]!r}, which is of another popxl.Ir")
        graphs.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        get_current_context()._graphs.pop()

    def __repr__(self) -> str:
        return f"Graph[{self.name or 'main'}]"


@dataclass(eq=False, repr=False)
class Call(Op):
    """An op that calls a graph, once or several times in a row."""

    caller: Graph
    #: The called graph, whose inputs and outputs are in the order of those of the op.
    graph: Graph
    #: The number of calls. The outputs of each call are the first inputs of the next.
    count: int
    #: The inputs of `graph` whose changes in place also change the caller's tensors.
    modified: set[Tensor]

    def lower(self, lowering: Lowering, values: Values) -> None:
        """Implement `Op.lower`."""
        given = values.names(self.inputs)
        for _ in range(self.count):
            inner = Values(lowering)
            inner.set(self.graph.inputs, given)
            self.graph.lower(lowering, inner)
            returned = inner.names(self.graph.outputs)
            after = inner.names(self.graph.inputs)
            kept = [new if t in self.modified else old for t, new, old in zip(self.graph.inputs, after, given)]
            given = [*returned[: len(kept)], *kept[len(returned) :]] if self.count > 1 else kept
        for parent, t, value in zip(self.inputs, self.graph.inputs, kept):
            if t in self.modified:
                values.set([parent], [value])
        values.set(self.outputs, returned)

    def gradient(self, backward: Backward, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """Implement `Op.gradient`."""
        if self.count > 1:
            raise backward.no_gradient(self)
        return backward.call(self, grads)

    def written(self) -> list[Tensor]:
        """Implement `Op.written`."""
        return [parent for parent, t in zip(self.inputs, self.graph.inputs) if t in self.modified]

    def add_output(self, t: Tensor) -> None:
        """Add an output for one that the called graph has received after this call was created."""
        self.outputs.append(self.caller.new_tensor(t.name, t.shape, t.dtype))
