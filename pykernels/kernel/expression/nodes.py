"""Elementwise expressions: what one element of the outputs is, in terms of one element of each input.

An expression is a graph of nodes. NumPy itself says which dtype each has: every node carries a small sample of what
NumPy would see in its place, and an operation is typed by being applied to the samples of its operands.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "Input",
    "Keyword",
    "Node",
    "NotElementwise",
    "Number",
    "Operand",
    "Operation",
    "dtype_of",
    "in_order",
    "is_array",
    "operation",
]

_numbers = itertools.count()
_KINDS = "biuf"


class NotElementwise(Exception):
    """The kernel has no elementwise form; the message is the reason, short enough for one line."""


@dataclass(frozen=True, eq=False)
class Node:
    """A value that is known at run time only.

    Attributes
    ----------
    sample : ndarray of shape (1,), or number
        An array stands for an array of any rank; a number of Python's or NumPy's for a number of this type.
    inputs : frozenset of int
        The inputs whose shapes, broadcast together, are the shape of this value.
    order : int
        Greater than that of every operand.
    """

    sample: Any
    inputs: frozenset[int] = frozenset()
    order: int = field(default_factory=_numbers.__next__)


@dataclass(frozen=True, eq=False)
class Input(Node):
    """An element of the input at `position`."""

    position: int = 0


@dataclass(frozen=True, eq=False)
class Keyword(Node):
    """The number handed over at run time in `slot`."""

    slot: int = 0


@dataclass(frozen=True, eq=False)
class Operation(Node):
    """A named operation, computed in `dtype`, which its operands are converted to."""

    name: str = ""
    operands: tuple[Operand, ...] = ()
    dtype: np.dtype = field(default_factory=lambda: np.dtype(np.float64))


#: A number that is known now.
Number: TypeAlias = "bool | int | float | np.generic"
Operand: TypeAlias = "Node | Number"


def is_array(value: Any) -> bool:
    """Whether a value is an array, not a number."""
    return isinstance(value, Node) and isinstance(value.sample, np.ndarray)


def dtype_of(value: Operand) -> np.dtype:
    """The dtype of a node or number; Python numbers are float64, int64 or bool."""
    return np.asarray(_sample(value)).dtype


def _sample(value: Operand) -> Any:
    return value.sample if isinstance(value, Node) else value


def operation(
    name: str,
    function: Callable[..., Any],
    operands: Sequence[Operand],
    computed_in: Callable[..., Any] | None = None,
) -> Operation:
    """The node of an operation.

    Parameters
    ----------
    name : str
        What it is called in `vector_code.OPERATIONS`.
    function : callable
        NumPy's or Python's function, which is tried on the samples.
    computed_in : callable, optional
        Gives the dtype to compute in, out of the samples of the operands; otherwise it is that of the result.

    Raises
    ------
    NotElementwise
        NumPy refuses the operands, or the result is not of a numeric dtype.
    """
    samples = [_sample(operand) for operand in operands]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*samples)
            dtype = np.asarray(result).dtype if computed_in is None else computed_in(*samples)
        except Exception as error:
            raise NotElementwise(f"{type(error).__name__}: {error}") from error
    given = np.asarray(result)
    if any(d.kind not in _KINDS or d.itemsize > 8 for d in (dtype, given.dtype)) or given.ndim > 1:
        raise NotElementwise(f"{name} gives {given.dtype}")
    inputs = frozenset[int]().union(*(operand.inputs for operand in operands if isinstance(operand, Node)))
    # A sample of one has no special values, such as the zero that a difference of samples would be.
    if isinstance(result, np.ndarray):
        sample = np.ones(1, result.dtype) if result.ndim else result.dtype.type(1)
    else:
        sample = type(result)(1)
    return Operation(sample, inputs, name=name, operands=tuple(operands), dtype=dtype)


def in_order(outputs: Iterable[Node]) -> list[Node]:
    """Every node that the outputs need, each after its operands."""
    found: dict[int, Node] = {}
    waiting = list(outputs)
    while waiting:
        node = waiting.pop()
        if node.order not in found:
            found[node.order] = node
            waiting += _operands(node)
    return [found[order] for order in sorted(found)]


def _operands(node: Node) -> Iterator[Node]:
    if isinstance(node, Operation):
        yield from (operand for operand in node.operands if isinstance(operand, Node))
