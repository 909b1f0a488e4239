"""Nodes of expressions on whole arrays: reductions, views, and lengths of axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pykernels.kernel.expression.axes import Shape
from pykernels.kernel.expression.nodes import Keyword, Node, Operand, Operation

__all__ = ["Counted", "Extent", "Reduction", "Reshaped", "Sliced", "View", "keywords_of", "operands_of"]


@dataclass(frozen=True, eq=False)
class Reduction(Node):
    """The elements of an array folded along axes.

    Attributes
    ----------
    name : str
        ``"add"``, ``"multiply"``, ``"maximum"`` or ``"minimum"``.
    operand : Node
        Its dtype is that of the result.
    folded : tuple of Axis
        The axes that are gone, or of length 1 now.
    may_be_empty : bool
        Whether there need not be any elements.
    """

    name: str = ""
    operand: Node = field(default_factory=lambda: Node(0))
    folded: Shape = ()
    may_be_empty: bool = True

    @property
    def dtype(self) -> np.dtype:
        """The dtype that it is computed in."""
        return np.asarray(self.sample).dtype


@dataclass(frozen=True, eq=False)
class View(Node):
    """The same elements, with axes of length 1 put in or taken out."""

    operand: Node = field(default_factory=lambda: Node(0))


@dataclass(frozen=True, eq=False)
class Reshaped(Node):
    """The same elements with other axes, whose lengths `Axes.lengths` has: those of an input, or of a result."""

    operand: Node = field(default_factory=lambda: Node(0))


@dataclass(frozen=True, eq=False)
class Sliced(Node):
    """A part of an input.

    Attributes
    ----------
    parts : tuple of (int, int, int)
        For every axis of the input: the position of an axis that is as long as the part's first index says, or -1 for
        0; the step; the position of the part's own axis, or -1 where it has none.
    """

    operand: Node = field(default_factory=lambda: Node(0))
    parts: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Counted(Node):
    """The numbers 0, 1, ... along an axis."""


@dataclass(frozen=True, eq=False)
class Extent(Node):
    """How many elements an array of a shape has; a number of Python's."""

    shape: Shape = ()


def operands_of(node: Operand) -> Iterator[Node]:
    """The nodes that a node is computed from."""
    if isinstance(node, Operation):
        yield from (operand for operand in node.operands if isinstance(operand, Node))
    elif isinstance(node, (Reduction, Reshaped, View)):
        yield node.operand


def keywords_of(value: Operand) -> frozenset[int] | None:
    """The slots of the numbers given at run time that a number depends on; None if it depends on more than these."""
    if isinstance(value, Keyword):
        return frozenset({value.slot})
    if isinstance(value, Operation):
        found = [keywords_of(operand) for operand in value.operands]
        return None if None in found else frozenset[int]().union(*(slots for slots in found if slots is not None))
    return None if isinstance(value, Node) else frozenset()
