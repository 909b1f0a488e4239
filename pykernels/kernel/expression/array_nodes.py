"""Nodes of expressions on whole arrays: reductions, views, and lengths of axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pykernels.kernel.expression.axes import Shape
from pykernels.kernel.expression.nodes import Keyword, Node, NotExpressible, Operand, Operation


@dataclass(frozen=True, eq=False)
class Reduction(Node):
    """The elements of an array folded along axes."""

    #: ``"add"``, ``"multiply"``, ``"maximum"`` or ``"minimum"``.
    name: str = ""
    #: The array; it has the dtype of the result.
    operand: Node = field(default_factory=lambda: Node(0))
    #: The axes that the result lacks, or has with length 1.
    folded: Shape = ()
    #: Whether there may be no elements to fold.
    may_be_empty: bool = True


@dataclass(frozen=True, eq=False)
class Scattered(Reduction):
    """The elements of an array combined at places of the result; `operand` has the places and the elements in turn."""


@dataclass(frozen=True, eq=False)
class View(Node):
    """The same elements, with axes of length 1 added or removed."""

    operand: Node = field(default_factory=lambda: Node(0))


@dataclass(frozen=True, eq=False)
class Reshaped(Node):
    """An array with other axes, whose lengths are in `Axes.lengths`."""

    operand: Node = field(default_factory=lambda: Node(0))


@dataclass(frozen=True, eq=False)
class Part(View):
    """A part of `base`, or all of it with its axes in another order: `operand` computes the same elements."""

    base: Node = field(default_factory=lambda: Node(0))


@dataclass(frozen=True)
class Strides:
    """How an array runs along an axis of the array that it is a part of; every number is a position in `Axes`."""

    #: An axis whose length is the first index, or -1 for 0.
    first: int
    step: int
    #: The part's own axis, or -1 if it has none.
    own: int
    #: The axis itself.
    whole: int


@dataclass(frozen=True, eq=False)
class Sliced(Node):
    """A part of an input, or of a reshaped input; its axes may have another order."""

    operand: Node = field(default_factory=lambda: Node(0))
    #: For every axis of the operand.
    strides: tuple[Strides, ...] = ()


@dataclass(frozen=True, eq=False)
class Start(Sliced):
    """The first element of an input, of a reshaped input, or of what is `Scattered`, from which places are counted."""


@dataclass(frozen=True, eq=False)
class Joined(Node):
    """Arrays joined along an axis: a result, or a result before a final reshape; operations take its parts instead."""

    parts: tuple[Node, ...] = ()
    #: Counted from the end, -1 for the last.
    axis: int = -1
    #: For every part, the position in `Axes` of an axis whose length is its first index.
    firsts: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Counted(Node):
    """The numbers 0, 1, ... along an axis."""


@dataclass(frozen=True, eq=False)
class Extent(Node):
    """The number of elements of an array of a shape, as a Python number."""

    shape: Shape = ()


def operands_of(node: Operand) -> Iterator[Node]:
    """Return the nodes that a node is computed from."""
    if isinstance(node, Operation):
        yield from (operand for operand in node.operands if isinstance(operand, Node))
    elif isinstance(node, (Reduction, Reshaped, View)):
        yield node.operand
    elif isinstance(node, Joined):
        yield from node.parts


def require_known(value: Any) -> None:
    """Request a kernel that is specialized on the scalars in `value`, if `value` depends on nothing else."""
    keywords = sorted(_keywords_of(value) or (), key=lambda keyword: keyword.slot)
    if keywords:
        names = tuple(keyword.name for keyword in keywords)
        is_possible = all(keyword.is_specializable for keyword in keywords)
        raise NotExpressible(f"it branches on {', '.join(names)}", specialize_on=names if is_possible else ())


def _keywords_of(value: Any) -> set[Keyword] | None:
    """Return the scalars that a number depends on; None if it depends on anything else."""
    if isinstance(value, Keyword):
        return {value}
    if isinstance(value, Operation):
        found: set[Keyword] = set()
        for keywords in map(_keywords_of, value.operands):
            if keywords is None:
                return None
            found |= keywords
        return found
    return None if isinstance(value, Node) else set()
