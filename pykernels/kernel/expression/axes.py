"""Shapes of arrays before their sizes are known: which axes of which tensors are as long as one another.

An axis of a tensor is told by its position among the dimensions of all tensors, one after the other, as the kernel ABI
hands them over. The length of an axis of any other array is that of the tensors' axes which it comes from, broadcast.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from pykernels.kernel.expression.nodes import Node, NotElementwise, Operand, Operation

__all__ = ["CALCULATIONS", "COUNT", "NUMBER", "UNIT", "Axes", "Axis", "Shape", "encoded"]

#: The axes of tensors whose lengths, broadcast together, are the length of this one.
Axis: TypeAlias = frozenset[int]
Shape: TypeAlias = tuple[Axis, ...]

#: An axis of length 1.
UNIT: Axis = frozenset()


#: Steps of `Axes.lengths`, as in fused/tables.h.
NUMBER, COUNT = 0, 1
CALCULATIONS = {"multiply": 2, "floor_divide": 3, "add": 4, "subtract": 5, "maximum": 6, "minimum": 7}


def encoded(shape: Shape) -> list[int]:
    """A shape as numbers: the count of its axes, and for each the count of the axes that it comes from, and these."""
    return [len(shape), *(number for axis in shape for number in (len(axis), *sorted(axis)))]


class Axes:
    """The shapes of the nodes of an expression.

    Axes of tensors that are broadcast together are of one class; such axes are as long as one another, or 1.

    Attributes
    ----------
    made : dict
        The nodes, by how they were made, so that none need be made twice.
    lengths : list of list of int
        For each axis that is no tensor's but a reshaped array's, how long it is: steps of a calculator with a stack.
        A step is ``NUMBER n``, ``COUNT`` and a shape as `encoded`, or what `CALCULATIONS` calls it. These axes are
        told by the positions after those of tensors.
    n_positions : int
        How many axes all tensors and reshaped arrays have.
    """

    def __init__(self, n_positions: int = 0) -> None:
        self.n_positions = n_positions
        self.made: dict[Any, Node] = {}
        self.lengths: list[list[int]] = []
        self._shapes: dict[int, Shape] = {}
        self._parents: dict[int, int] = {}

    def add(self, lengths: Sequence[list[int]]) -> Shape:
        """New axes of these lengths."""
        first = self.n_positions
        self.lengths += lengths
        self.n_positions = first + len(lengths)
        return tuple(frozenset({at}) for at in range(first, self.n_positions))

    def note(self, node: Node, shape: Shape) -> None:
        """Say what shape a node has that its operands do not tell."""
        self._shapes[node.order] = shape

    def has(self, value: Operand) -> bool:
        """Whether a value has a shape: it is computed from the elements of tensors, or has as many as these."""
        if not isinstance(value, Node):
            return False
        return value.order in self._shapes or (isinstance(value, Operation) and any(map(self.has, value.operands)))

    def shape_of(self, value: Operand) -> Shape:
        """The shape of a value, that of a number if it has none."""
        if not isinstance(value, Node):
            return ()
        found = self._shapes.get(value.order)
        if found is None:
            if not self.has(value):
                return ()
            assert isinstance(value, Operation)
            found = self._shapes[value.order] = self.broadcast(map(self.shape_of, value.operands))
        return found

    def broadcast(self, shapes: Iterable[Shape]) -> Shape:
        """The shape of what is computed from arrays of these shapes, element by element."""
        given = list(shapes)
        rank = max(map(len, given))
        aligned = [(UNIT,) * (rank - len(shape)) + shape for shape in given]
        result = tuple(UNIT.union(*axes) for axes in zip(*aligned))
        for axis in result:
            first, *others = axis or (0,)
            for other in others:
                self._parents[self.class_of(other)] = self.class_of(first)
        return result

    def class_of(self, axis_of_tensor: int) -> int:
        """A number that all axes of a class have in common, until more are broadcast."""
        while axis_of_tensor in self._parents and self._parents[axis_of_tensor] != axis_of_tensor:
            axis_of_tensor = self._parents[axis_of_tensor]
        return axis_of_tensor

    def classes(self, shape: Shape) -> tuple[int, ...]:
        """The classes of the axes that may be longer than 1, in order.

        Raises
        ------
        NotElementwise
            Two axes are of one class, as those of ``x + x.T``.
        """
        found = tuple(self.class_of(next(iter(axis))) for axis in shape if axis)
        if len(set(found)) != len(found):
            raise NotElementwise("two axes of one array are broadcast together")
        return found
