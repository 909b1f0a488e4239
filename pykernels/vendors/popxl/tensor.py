"""Tensors of a graph; variables, constants, inputs and outputs of graphs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.arrays import to_numpy
from pykernels.vendors.popxl.context import get_current_context
from pykernels.vendors.popxl.dtypes import check_dtype, dtype
from pykernels.vendors.popxl.errors import UndefinedValue
from pykernels.vendors.popxl.operators import Operators

if TYPE_CHECKING:
    from pykernels.vendors.popxl.graph import Graph
    from pykernels.vendors.popxl.ir import Ir

__all__ = [
    "Constant",
    "Tensor",
    "TensorByRef",
    "TensorSpec",
    "Variable",
    "constant",
    "graph_input",
    "graph_output",
    "variable",
]


class TensorSpec(NamedTuple):
    """What a tensor is like, for `Ir.create_graph`."""

    shape: tuple[int, ...]
    dtype: dtype
    meta_shape: tuple[int, ...] = ()


class Tensor(Operators):
    """A tensor of a graph; ops, variables and inputs make them.

    Attributes
    ----------
    id, name : str
        With the name of the graph, and without.
    shape : tuple of int
    dtype : dtype
    """

    meta_shape: tuple[int, ...] = ()
    # What Python would otherwise try with __getitem__.
    __iter__ = None
    __contains__ = None

    def __init__(
        self, graph: Graph, id_: str, shape: Sequence[int], dtype_: dtype, *, alias_of: Tensor | None = None
    ) -> None:
        self._graph = graph
        self.id = id_
        self.shape = tuple(int(size) for size in shape)
        self.dtype = dtype_
        #: The tensor whose memory this one is.
        self._memory: Tensor = alias_of._memory if alias_of is not None else self

    @classmethod
    def _from_pb_tensor(cls, tensor: Tensor) -> Tensor:
        """For wrappers of C++ ops, whose tensors are these already."""
        return tensor

    @property
    def name(self) -> str:
        """The id without the name of the graph."""
        return self.id.removeprefix(self._graph._scope)

    @property
    def scope(self) -> str:
        """The name of the graph; empty for the main graph."""
        return self._graph._scope.rstrip("/")

    @property
    def spec(self) -> TensorSpec:
        """Shape and dtype."""
        return TensorSpec(self.shape, self.dtype)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def nelms(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def ir(self) -> Ir:
        """The IR that it is of."""
        return self._graph.ir

    @property
    def ipu(self) -> int:
        """Raises UndefinedValue: there is no IPU."""
        raise UndefinedValue(f"{self!r} is on no IPU: graphs run on the CPU")

    @property
    def T(self) -> Tensor:  # noqa: N802
        """The tensor with its axes in reverse order."""
        return self.transpose()

    def transpose(self, permutation: Iterable[int] | None = None) -> Tensor:
        """As `ops.transpose`."""
        from pykernels.vendors.popxl import ops

        return ops.transpose(self, permutation)

    def reshape(self, shape: Iterable[int]) -> Tensor:
        """As `ops.reshape`."""
        from pykernels.vendors.popxl import ops

        return ops.reshape(self, shape)

    def flatten(self) -> Tensor:
        """As `ops.flatten`."""
        from pykernels.vendors.popxl import ops

        return ops.flatten(self)

    def detach(self) -> Tensor:
        """As `ops.detach`."""
        from pykernels.vendors.popxl import ops

        return ops.detach(self)

    def diag(self) -> Tensor:
        """The diagonal of a tensor of two axes."""
        if self.rank != 2:
            raise CallError(f"diag: {self!r} has {self.rank} axes; it must have 2")
        return self.flatten()[: min(self.shape) * (self.shape[1] + 1) : self.shape[1] + 1]

    def __getitem__(self, key: Any) -> Tensor:
        from pykernels.vendors.popxl.ops import indexing

        return indexing.item(self, key)

    def __len__(self) -> int:
        if not self.shape:
            raise CallError(f"{self!r} has no axes, and so no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.id} {self.dtype} {self.shape}]"


class Variable(Tensor):
    """A tensor of the main graph that keeps its value from run to run."""

    retrieval_mode = "one_per_group"

    def __init__(self, graph: Graph, id_: str, data: np.ndarray) -> None:
        super().__init__(graph, id_, data.shape, dtype.as_dtype(data.dtype))
        self._data = data

    @property
    def shape_on_host(self) -> tuple[int, ...]:
        """The shape, since there is one replica."""
        return self.shape

    @property
    def shape_on_replica(self) -> tuple[int, ...]:
        """The shape, since there is one replica."""
        return self.shape


class Constant(Tensor):
    """A tensor whose value is known and stays."""

    def __init__(self, graph: Graph, id_: str, data: np.ndarray) -> None:
        super().__init__(graph, id_, data.shape, dtype.as_dtype(data.dtype))
        self._data = data


class TensorByRef:
    """As the annotation of a parameter: what the graph does to it in place is done to the tensor of the caller."""


def variable(
    data: Any,
    dtype: dtype | None = None,
    name: str | None = None,
    downcast: bool = True,
    replica_grouping: None = None,
    retrieval_mode: str | None = None,
) -> Variable:
    """A variable of the main graph.

    Parameters
    ----------
    data : array, sequence or number
        Its first value.
    dtype : dtype, optional
        That of `data` without it, of at most 32 bits.
    name : str, optional
    downcast : bool
        Whether 64 bits become 32 where no `dtype` is given.
    replica_grouping, retrieval_mode
        There is one replica: only None and "one_per_group" are known.

    Raises
    ------
    CallError
        The chosen graph is not the main graph, or `data` is no array of numbers.
    """
    graph = get_current_context().graph
    if graph is not graph.ir.main_graph:
        raise CallError(
            f"popxl.variable: the chosen graph is {graph!r}, and variables can be made in the main graph only. Give "
            "the graph an input for it (popxl.graph_input, or a parameter), or use popxl.constant"
        )
    if replica_grouping is not None or retrieval_mode not in (None, "one_per_group"):
        raise CallError("popxl.variable: there is one replica, so that replica_grouping cannot be given")
    return graph._add(Variable(graph, graph._create_tensor_id(name), to_numpy(data, dtype, downcast)))


def constant(data: Any, dtype: dtype | None = None, name: str | None = None, downcast: bool = True) -> Constant:
    """A constant of the chosen graph; parameters and errors are those of `variable`."""
    graph = get_current_context().graph
    return graph._add(Constant(graph, graph._create_tensor_id(name), to_numpy(data, dtype, downcast)))


def graph_input(
    shape: Iterable[int],
    dtype: dtype,
    name: str | None = None,
    by_ref: bool = False,
    meta_shape: Iterable[int] | None = None,
) -> Tensor:
    """A further input of the chosen graph.

    Parameters
    ----------
    shape : iterable of int
    dtype : dtype
    name : str, optional
    by_ref : bool
        Whether what the graph does to it in place is done to the tensor of the caller.
    meta_shape
        There is one replica: only None is known.

    Raises
    ------
    CallError
        The chosen graph is the main graph, which nothing calls.
    """
    graph = get_current_context().graph
    if graph is graph.ir.main_graph:
        raise CallError("popxl.graph_input: the main graph has no inputs; load what it needs with ops.host_load")
    if meta_shape:
        raise CallError("popxl.graph_input: there is one replica, so that meta_shape cannot be given")
    check_dtype("popxl.graph_input", dtype)
    made = graph._add(Tensor(graph, graph._create_tensor_id(name), tuple(shape), dtype))
    graph._inputs.append(made)
    if by_ref:
        graph._by_ref_inputs.add(made)
    return made


def graph_output(t: Tensor) -> None:
    """Make a tensor of the chosen graph an output of it.

    Raises
    ------
    CallError
        It is of another graph, or the chosen graph is the main graph.
    """
    graph = get_current_context().graph
    if graph is graph.ir.main_graph:
        raise CallError("popxl.graph_output: the main graph has no outputs; store tensors with ops.host_store")
    graph.check_holds(t=t)
    graph.add_output(t)
