"""Nodes of elementwise expressions: one element of each output in terms of one element of each input.

An expression is a graph of nodes. NumPy itself determines their dtypes: every node carries a small sample of the array
or number that NumPy would see in its place, and applying an operation to the samples of its operands gives its dtype.
"""

from __future__ import annotations

import ast
import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from pykernels.base.dtypes import real
from pykernels.kernel.expression.operations import OF_COMPLEX, Function

_numbers = itertools.count()
#: The kinds of dtypes that expressions have, and their largest size in bytes.
KINDS, LARGEST = "biuf", 8


class NotExpressible(Exception):
    """The kernel has no expression of the form that is being tried.

    Attributes
    ----------
    reason : str
        Short enough for one line.
    where : str
        The place of the reason, ``file:line``.
    specialize_on : tuple of str
        The scalars on which the kernel may be specialized to have an expression (`Signature`).
    """

    def __init__(self, reason: str = "", where: str = "", specialize_on: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.where = where
        self.specialize_on = specialize_on

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}" if self.where else self.reason


_DESCRIPTIONS: dict[type[ast.AST], str] = {
    **dict.fromkeys((ast.For, ast.While), "a loop"),
    **dict.fromkeys((ast.Slice, ast.Subscript), "an index"),
    ast.Raise: "an exception",
}


def describe(node: ast.AST) -> str:
    """Describe a part of a function for a reason."""
    return _DESCRIPTIONS.get(type(node)) or ast.unparse(node).splitlines()[0]


@dataclass(frozen=True, eq=False)
class Node:
    """A value that is known only at run time."""

    #: An array stands for an array of any rank; a Python or NumPy number for a number of this type.
    sample: Any
    #: Greater than that of every operand.
    order: int = field(default_factory=_numbers.__next__)


@dataclass(frozen=True, eq=False)
class Input(Node):
    """An element of the input at `position`."""

    position: int = 0


@dataclass(frozen=True, eq=False)
class Keyword(Node):
    """The scalar `name`, passed at run time in `slot`; a kernel can or cannot be specialized on it."""

    slot: int = 0
    name: str = ""
    is_specializable: bool = False


@dataclass(frozen=True, eq=False)
class Operation(Node):
    """A named operation, which converts its operands to `dtype` and computes in it."""

    name: str = ""
    operands: tuple[Operand, ...] = ()
    dtype: np.dtype = field(default_factory=lambda: np.dtype(np.float64))


#: A number that is known now.
Number: TypeAlias = "bool | int | float | complex | np.generic"
Operand: TypeAlias = "Node | Number"


def is_array(value: Any) -> bool:
    """Whether a value is an array and not a number."""
    return isinstance(value, Node) and isinstance(value.sample, np.ndarray)


def dtype_of(value: Operand) -> np.dtype:
    """Return the dtype of a node or number; Python numbers are float64, int64 or bool."""
    return np.asarray(_sample(value)).dtype


def _sample(value: Operand) -> Any:
    return value.sample if isinstance(value, Node) else value


def operation(function: Function, operands: Sequence[Operand]) -> Operation:
    """Return the node of an operation, whose dtypes come from applying the function to samples.

    Raises
    ------
    NotExpressible
        NumPy refuses the operands, or the dtype of the result is not numeric.
    """
    samples = [_sample(operand) for operand in operands]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function.function(*samples)
            dtype = function.computed_in(*samples) if function.computed_in else np.asarray(result).dtype
        except Exception as error:
            raise NotExpressible(f"{type(error).__name__}: {error}") from error
    given = np.asarray(result)
    of_complex = any(np.asarray(sample).dtype.kind == "c" for sample in (*samples, result))
    if of_complex and (function.name not in OF_COMPLEX or not isinstance(result, np.ndarray)):
        raise NotExpressible(f"{function.name} of complex numbers")
    kinds = f"{KINDS}c" if of_complex else KINDS
    if any(d.kind not in kinds or real(d).itemsize > LARGEST for d in (dtype, given.dtype)) or given.ndim > 1:
        raise NotExpressible(f"{function.name} gives {given.dtype}")
    # A sample of ones avoids special values, such as the zero that a difference of samples would be.
    if isinstance(result, np.ndarray):
        sample = np.ones(1, result.dtype) if result.ndim else result.dtype.type(1)
    else:
        sample = type(result)(1)
    return Operation(sample, name=function.name, operands=tuple(operands), dtype=dtype)


def in_order(outputs: Iterable[Node], operands: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """Return the outputs and every node that they are computed from, each after its `operands`."""
    found: dict[int, Node] = {}
    waiting = list(outputs)
    while waiting:
        node = waiting.pop()
        if node.order not in found:
            found[node.order] = node
            waiting += operands(node)
    return [found[order] for order in sorted(found)]
