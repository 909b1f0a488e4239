"""Define the tensors of a graph, among them variables and constants, and make tensors inputs and outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.context import AnyGraph, get_current_context
from pykernels.vendors.popxl.dtypes import check_dtype, dtype, to_numpy
from pykernels.vendors.popxl.errors import UndefinedValue


class TensorSpec(NamedTuple):
    """The shape and dtype of an input, for `Ir.create_graph`."""

    shape: tuple[int, ...]
    dtype: dtype
    meta_shape: tuple[int, ...] = ()


Operator = Callable[["Tensor", Any], "Tensor"]
#: The ops that operators and methods of tensors call, by name; the package `ops` fills this in.
OPS: dict[str, Callable[..., Tensor]] = {}


def _operators(op: str) -> tuple[Operator, Operator]:
    """Return the methods for an operator with the tensor on its left and on its right."""

    def left(self: Tensor, other: Any) -> Tensor:
        return self._apply(op, self, other)

    def right(self: Tensor, other: Any) -> Tensor:
        return self._apply(op, other, self)

    return left, right


class Tensor:
    """A tensor of a graph: an op's output, a graph's input, a variable or a constant.

    Attributes
    ----------
    id, name : str
        The name with and without the name of the graph.
    shape : tuple of int
    dtype : dtype
    """

    # Without these, Python would fall back on __getitem__.
    __iter__ = None
    __contains__ = None
    #: NumPy arrays leave operators with tensors to the tensors' methods.
    __array_ufunc__ = None

    def __init__(
        self, graph: AnyGraph, id_: str, shape: Sequence[int], dtype_: dtype, *, alias_of: Tensor | None = None
    ) -> None:
        self._graph = graph
        self.id = id_
        self.shape = tuple(int(size) for size in shape)
        self.dtype = dtype_
        #: The tensor whose memory this one uses.
        self._memory: Tensor = alias_of._memory if alias_of is not None else self

    @classmethod
    def _from_pb_tensor(cls, tensor: Tensor) -> Tensor:
        """Return the tensor itself: wrappers of C++ ops call this, and their tensors have this class already."""
        return tensor

    @property
    def name(self) -> str:
        """The id without the name of the graph."""
        return self.id.removeprefix(self._graph._scope)

    @property
    def scope(self) -> str:
        """The name of the graph, which is empty for the main graph."""
        return self._graph._scope.rstrip("/")

    @property
    def spec(self) -> TensorSpec:
        """The shape and dtype."""
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
    def ir(self) -> Any:
        """The IR of the tensor's graph."""
        return self._graph.ir

    @property
    def ipu(self) -> int:
        """Always raise UndefinedValue, as there is no IPU."""
        raise UndefinedValue(f"{self!r} is on no IPU: graphs run on the CPU")

    @property
    def T(self) -> Tensor:  # noqa: N802
        """The tensor with its axes in reverse order."""
        return self.transpose()

    def transpose(self, permutation: Iterable[int] | None = None) -> Tensor:
        """Call `ops.transpose` with this tensor."""
        return OPS["transpose"](self, permutation)

    def reshape(self, shape: Iterable[int]) -> Tensor:
        """Call `ops.reshape` with this tensor."""
        return OPS["reshape"](self, shape)

    def flatten(self) -> Tensor:
        """Call `ops.flatten` with this tensor."""
        return OPS["flatten"](self)

    def detach(self) -> Tensor:
        """Call `ops.detach` with this tensor."""
        return OPS["detach"](self)

    def diag(self) -> Tensor:
        """Return the diagonal of a tensor with two axes."""
        if self.rank != 2:
            raise CallError(f"diag: {self!r} has {self.rank} axes; it must have 2")
        return self.flatten()[: min(self.shape) * (self.shape[1] + 1) : self.shape[1] + 1]

    def __getitem__(self, key: Any) -> Tensor:
        return OPS["item"](self, key)

    def __len__(self) -> int:
        if not self.shape:
            raise CallError(f"{self!r} has no axes, and no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.id} {self.dtype} {self.shape}]"

    def _ensure_tensor(self, value: Any) -> Tensor:
        """Return `value` if it is a tensor, or else a constant of it with this tensor's dtype."""
        if isinstance(value, Tensor):
            return value
        made = constant(value, self.dtype)
        if made.nelms == 0:
            raise CallError(f"{value!r} has no elements; if that is meant, make a popxl.constant of it")
        return made

    def _apply(self, op: str, *operands: Any) -> Tensor:
        """Call an op on tensors and on values, which become constants with this tensor's dtype."""
        return OPS[op](*map(self._ensure_tensor, operands))

    def __neg__(self) -> Tensor:
        return self._apply("negate", self)

    def __invert__(self) -> Tensor:
        return self._apply("logical_not", self)

    def __iadd__(self, other: Any) -> Tensor:
        self._apply("add_", self, other)
        return self

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")
    __mul__, __rmul__ = _operators("mul")
    __truediv__, __rtruediv__ = _operators("div")
    __mod__, __rmod__ = _operators("fmod")
    __pow__, __rpow__ = _operators("pow")
    __matmul__, __rmatmul__ = _operators("matmul")
    __and__, __rand__ = _operators("logical_and")
    __or__, __ror__ = _operators("logical_or")


class _Stored(Tensor):
    """A tensor that has a value from the beginning."""

    def __init__(self, graph: AnyGraph, id_: str, data: np.ndarray) -> None:
        super().__init__(graph, id_, data.shape, dtype.as_dtype(data.dtype))
        self._data = data


class Variable(_Stored):
    """A tensor of the main graph that keeps its value between runs."""


class Constant(_Stored):
    """A tensor with a fixed value."""


class TensorByRef:
    """The annotation of a parameter whose changes in place also change the caller's tensor."""


def variable(
    data: Any,
    dtype: dtype | None = None,
    name: str | None = None,
    downcast: bool = True,
    replica_grouping: None = None,
    retrieval_mode: str | None = None,
) -> Variable:
    """Return a new variable of the main graph.

    Parameters
    ----------
    data : array, sequence or number
        The initial value.
    dtype : dtype, optional
        By default the dtype of `data`, which `downcast` limits to 32 bits.
    name : str, optional
    downcast : bool
        Whether to convert 64-bit types to 32-bit ones if no `dtype` is given.
    replica_grouping, retrieval_mode
        Since there is one replica, `replica_grouping` must be None, and `retrieval_mode` None or "one_per_group".

    Raises
    ------
    CallError
        The current graph is not the main graph, or `data` cannot be converted to an array of numbers.
    """
    graph = get_current_context().graph
    if graph is not graph.ir.main_graph:
        raise CallError(
            f"popxl.variable: the current graph is {graph!r}, and variables can be made in the main graph only. Give "
            "the graph an input for it (popxl.graph_input, or a parameter), or use popxl.constant"
        )
    if replica_grouping is not None or retrieval_mode not in (None, "one_per_group"):
        raise CallError("popxl.variable: there is one replica, so that replica_grouping cannot be given")
    made: Variable = graph._add(Variable(graph, graph._create_tensor_id(name), to_numpy(data, dtype, downcast)))
    return made


def constant(data: Any, dtype: dtype | None = None, name: str | None = None, downcast: bool = True) -> Constant:
    """Return a new constant of the current graph; parameters, and the error for wrong data, are as in `variable`."""
    graph = get_current_context().graph
    made: Constant = graph._add(Constant(graph, graph._create_tensor_id(name), to_numpy(data, dtype, downcast)))
    return made


def graph_input(
    shape: Iterable[int],
    dtype: dtype,
    name: str | None = None,
    by_ref: bool = False,
    meta_shape: Iterable[int] | None = None,
) -> Tensor:
    """Return a new input of the current graph.

    Parameters
    ----------
    shape : iterable of int
    dtype : dtype
    name : str, optional
    by_ref : bool
        Whether changes in place also change the caller's tensor.
    meta_shape
        Must be None, since there is one replica.

    Raises
    ------
    CallError
        The current graph is the main graph, which has no inputs.
    """
    graph = get_current_context().graph
    if graph is graph.ir.main_graph:
        raise CallError("popxl.graph_input: the main graph has no inputs; load what it needs with ops.host_load")
    if meta_shape:
        raise CallError("popxl.graph_input: there is one replica, so that meta_shape cannot be given")
    check_dtype("popxl.graph_input", dtype)
    made: Tensor = graph._add(Tensor(graph, graph._create_tensor_id(name), tuple(shape), dtype))
    graph._inputs.append(made)
    if by_ref:
        graph._by_ref_inputs.add(made)
    return made


def graph_output(t: Tensor) -> None:
    """Make a tensor of the current graph an output of that graph.

    Raise CallError if the tensor belongs to another graph, or the current graph is the main graph.
    """
    graph = get_current_context().graph
    if graph is graph.ir.main_graph:
        raise CallError("popxl.graph_output: the main graph has no outputs; store tensors with ops.host_store")
    graph.check_holds(t=t)
    graph.add_output(t)
