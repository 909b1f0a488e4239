"""Graphs: ops and tensors, in the order in which they were made."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType
from pykernels.vendors.popxl.context import get_current_context
from pykernels.vendors.popxl.tensor import Constant, Tensor, Variable

if TYPE_CHECKING:
    from pykernels.vendors.popxl.context import Settings
    from pykernels.vendors.popxl.ir import Ir
    from pykernels.vendors.popxl.op import Op
    from pykernels.vendors.popxl.ops.call import Call

__all__ = ["Graph"]

T = TypeVar("T", bound=Tensor)


class Graph:
    """A graph of an IR; `Ir.create_graph` and `Ir.create_empty_graph` make them.

    In a ``with`` statement it is the graph that ops go into.

    Attributes
    ----------
    ir : Ir
    id, name : str
        Empty for the main graph.
    """

    def __init__(self, ir: Ir, name: str) -> None:
        self.ir = ir
        self.id = self.name = name
        self._scope = f"{name}/" if name else ""
        self.ops: list[Op] = []
        self._tensors: dict[str, Tensor] = {}
        self._inputs: list[Tensor] = []
        self._outputs: list[Tensor] = []
        self._by_ref_inputs: set[Tensor] = set()
        #: The ops that call it.
        self._calls: list[Call] = []

    @property
    def _pb_graph(self) -> Graph:
        """For wrappers of C++ ops, which give it to what the C++ code binds."""
        return self

    @property
    def main_graph(self) -> Graph:
        """The main graph of the IR."""
        return self.ir.main_graph

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The inputs, in the order in which calls take them."""
        return tuple(self._inputs)

    @property
    def inputs_by_name(self) -> dict[str, Tensor]:
        """The inputs by their names."""
        return {t.name: t for t in self._inputs}

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The outputs, in the order in which calls return them."""
        return tuple(self._outputs)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors."""
        return tuple(self._tensors.values())

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables."""
        return tuple(t for t in self._tensors.values() if isinstance(t, Variable))

    @property
    def constants(self) -> tuple[Constant, ...]:
        """All constants."""
        return tuple(t for t in self._tensors.values() if isinstance(t, Constant))

    @property
    def called_graphs(self) -> tuple[Graph, ...]:
        """The graphs that its ops call, each once."""
        from pykernels.vendors.popxl.ops.call import Call

        return tuple(dict.fromkeys(op.graph for op in self.ops if isinstance(op, Call)))

    def get_tensor(self, tensor_id: str) -> Tensor:
        """The tensor with this id; raises CallError where there is none."""
        if tensor_id not in self._tensors:
            raise CallError(f"{self!r} has no tensor {tensor_id!r}")
        return self._tensors[tensor_id]

    def register_op_created_hook(self, fn: Callable[[Op], Any]) -> int:
        """Have `fn` called with every op that is made in this graph; returns what removes it."""

        @functools.wraps(fn)
        def hook(op: Op) -> None:
            if op in self.ops[-1:]:
                fn(op)

        return get_current_context().register_op_created_hook(hook)

    def remove_op_created_hook(self, handle: int) -> None:
        """Undo `register_op_created_hook`."""
        get_current_context().remove_op_created_hook(handle)

    def check_holds(self, **tensors: Any) -> None:
        """Raise unless these are tensors of this graph.

        Raises
        ------
        TypeError, CallError
            One is no tensor; one is of another graph.
        """
        op = get_current_context().op_name
        for name, tensor in tensors.items():
            if not isinstance(tensor, Tensor):
                raise WrongType(f"{op}: {name} is {tensor!r}; it must be a popxl.Tensor")
            if tensor._graph is not self:
                where = "the main graph" if not tensor._graph.name else repr(tensor._graph)
                other = " of another popxl.Ir" if tensor.ir is not self.ir else ""
                raise CallError(
                    f"{op}: {name} is {tensor!r} of {where}{other}, and ops are being made in {self!r}. Make it an "
                    "input of that graph, or choose its own"
                )

    def add_op(self, op: Op) -> None:
        """Append an op, whose tensors are there."""
        self.ir.check_open()
        self.ops.append(op)

    def _popart_op_created(self, op: int, inputs: dict[int, str], outputs: dict[int, str], settings: Settings) -> Op:
        """Append an op of that number, which C++ has made; called by `create_op_in_graph` of users' modules."""
        from pykernels.vendors.popxl import cpp_op

        return cpp_op.create(self, op, inputs, outputs, settings)

    def add_output(self, t: Tensor) -> None:
        """Make a tensor an output; calls that are there return it as well."""
        self._outputs.append(t)
        for call in self._calls:
            call.add_output(t)

    def new_tensor(self, name: str, shape: Any, dtype: Any, *, alias_of: Tensor | None = None) -> Tensor:
        """A tensor for an op to make; its name is made unique."""
        return self._add(Tensor(self, self._create_tensor_id(name), shape, dtype, alias_of=alias_of))

    def _add(self, tensor: T) -> T:
        self.ir.check_open()
        self._tensors[tensor.id] = tensor
        return tensor

    def _create_tensor_id(self, name: str | None = None) -> str:
        """An id that no tensor of the graph has yet."""
        base = self._scope + "/".join((*get_current_context().name_scopes, name or "t"))
        return self.ir.unique(base, "{}__t{}")

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, Tensor):
            raise WrongType(f"{value!r} is no popxl.Tensor")
        return value._graph is self

    def __enter__(self) -> Graph:
        get_current_context().push_graph(self)
        return self

    def __exit__(self, *exception: object) -> None:
        get_current_context().pop_graph()

    def __repr__(self) -> str:
        return f"Graph[{self.name or 'main'}]"
