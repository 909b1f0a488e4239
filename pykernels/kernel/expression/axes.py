"""Symbolic shapes of arrays: which axes of which tensors have the same length.

The position among the dimensions of all tensors, in the order in which the kernel ABI passes them, identifies an axis
of a tensor. The length of an axis of any other array follows from broadcasting the axes that it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from pykernels.kernel.expression.nodes import Node, NotExpressible, Operand, Operation

#: The axes of tensors whose broadcast length is the length of this axis.
Axis: TypeAlias = frozenset[int]
Shape: TypeAlias = tuple[Axis, ...]

#: An axis of length 1.
UNIT: Axis = frozenset()


#: Steps of `Axes.lengths`, as in fused/tables.h.
NUMBER, COUNT = 0, 1
CALCULATIONS = {"multiply": 2, "floor_divide": 3, "add": 4, "subtract": 5, "maximum": 6, "minimum": 7}


def encoded(shape: Shape) -> list[int]:
    """Encode a shape as numbers: the count of its axes; for each, the count of its source axes, then these."""
    return [len(shape), *(number for axis in shape for number in (len(axis), *sorted(axis)))]


class SharedAxes(NotExpressible):
    """An array needs an axis twice, or for itself, or axes in several orders; views with axes of their own may not."""


class Axes:
    """The shapes of the nodes of an expression.

    Axes of tensors that are broadcast together form a class; their lengths are equal, or 1.

    Attributes
    ----------
    lengths : list of list of int
        The length of each axis of a reshaped array, as a program for a stack machine. A step is ``NUMBER n``,
        ``COUNT`` and a shape as `encoded` gives it, or a value of `CALCULATIONS`. The positions of these axes follow
        those of tensors.
    equal : list of (Shape, Shape)
        Shapes that must have equally many elements.
    n_positions : int
        The number of axes of all tensors and reshaped arrays.
    has_ranks : bool
        Whether the ranks of tensors are known. Otherwise each tensor has a single axis, which stands for all of its
        axes, and the nodes are expressions of single elements.
    separates_views : bool
        Whether views have axes of their own, which need not lie in memory in the order of the array's: `SharedAxes`.
    """

    def __init__(self, n_positions: int, *, has_ranks: bool, separates_views: bool) -> None:
        self.n_positions = n_positions
        self.has_ranks = has_ranks
        self.separates_views = separates_views
        self.lengths: list[list[int]] = []
        self.equal: list[tuple[Shape, Shape]] = []
        self._shapes: dict[int, Shape] = {}
        self._parents: dict[int, int] = {}
        self._made: dict[Any, Node] = {}
        self._of_length: dict[tuple[int, ...], Axis] = {}

    def add(self, lengths: Sequence[list[int]]) -> Shape:
        """Return new axes of these lengths."""
        first = self.n_positions
        self.lengths += lengths
        self.n_positions = first + len(lengths)
        return tuple(frozenset({at}) for at in range(first, self.n_positions))

    def of_lengths(self, lengths: Sequence[list[int]]) -> Shape:
        """Return axes of these lengths; arrays share axes of the same length, unless views have axes of their own."""
        found: list[Axis] = []
        for length in lengths:
            axis = None if self.separates_views else self._known_axis(length)
            if axis is None or (axis in found and axis):
                (axis,) = self.add([length])
                self._of_length.setdefault(tuple(length), axis)
            found.append(axis)
        return tuple(found)

    def _known_axis(self, length: list[int]) -> Axis | None:
        """Return the axis whose length is computed like this, if there is one."""
        if length[:-1] == [COUNT, 1, 1]:
            return frozenset(length[-1:])
        return UNIT if length == [NUMBER, 1] else self._of_length.get(tuple(length))

    def are_alike(self, axis: Axis, other: Axis) -> bool:
        """Whether two axes are known to have the same length."""
        return axis == other or not self._steps_of(axis).isdisjoint(self._steps_of(other))

    def has_length(self, axis: Axis, length: int) -> bool:
        """Whether an axis is known to have this length."""
        return (NUMBER, length) in self._steps_of(axis)

    def is_length_of(self, position: int, axis: Axis) -> bool:
        """Whether an axis is known to be no longer than another, unless that has length 0."""
        counts = (steps for steps in self._steps_of(frozenset({position})) if steps[:2] == (COUNT, 1))
        return any(axis.issuperset(steps[3:]) for steps in counts if len(steps) == 3 + steps[2])

    def steps_of(self, shape: Shape) -> list[int]:
        """Return the steps that compute the number of elements of a shape, the same for shapes that are alike."""
        left, known = list[Axis](), list[int]()
        for axis in shape:
            numbers = [steps[1] for steps in self._steps_of(axis) if steps[0] == NUMBER and len(steps) == 2]
            known += numbers
            left += [] if numbers else [axis]
        steps = [COUNT, *encoded(tuple(left))]
        for number in known:
            steps += [NUMBER, number, CALCULATIONS["multiply"]]
        return steps

    def _steps_of(self, axis: Axis) -> set[tuple[int, ...]]:
        """Return the programs that are known to compute the length of an axis."""
        if not axis:
            return {(NUMBER, 1)}
        found, first = {(COUNT, *encoded((axis,)))}, self.n_positions - len(self.lengths)
        while len(axis) == 1 and min(axis) >= first:
            steps = self.lengths[min(axis) - first]
            found.add(tuple(steps))
            axis = frozenset(steps[-1:] if steps[:-1] == [COUNT, 1, 1] else ())
        return found

    def note(self, node: Node, shape: Shape) -> None:
        """Set the shape of a node whose operands do not determine it."""
        self._shapes[node.order] = shape

    def once(self, made: Node, *how: Any) -> Node:
        """Determine the shape of a new node; return the node that was made in the same way before, or else this one."""
        self.shape_of(made)
        if not self.has_ranks:
            return made
        key = tuple(part.order if isinstance(part, Node) else (type(part), repr(part)) for part in how)
        return self._made.setdefault((type(made), type(made.sample), key), made)

    def has(self, value: Operand) -> bool:
        """Whether a value has a shape: it is computed from the elements of tensors, or has their shape."""
        if not isinstance(value, Node):
            return False
        return value.order in self._shapes or (isinstance(value, Operation) and any(map(self.has, value.operands)))

    def is_ranked(self, value: Operand) -> bool:
        """Whether a value has a shape whose axes are known one by one."""
        return self.has_ranks and self.has(value)

    def shape_of(self, value: Operand) -> Shape:
        """Return the shape of a value; a value without one has the shape of a number."""
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
        """Return the shape to which these shapes broadcast."""
        given = list(shapes)
        rank = max(map(len, given))
        aligned = [(UNIT,) * (rank - len(shape)) + shape for shape in given]
        result = tuple(UNIT.union(*axes) for axes in zip(*aligned))
        for axis in result:
            first, *others = axis or (0,)
            for other in others:
                self._parents[self.class_of(other)] = self.class_of(first)
        return result

    def stays(self, array: Node, new: Operand) -> bool:
        """Whether a value that depends on an array has the array's shape, which is checked at run time if need be."""
        shape, others = self.shape_of(array), self.shape_of(new)
        changed = [(axis, other) for axis, other in zip(shape, others) if axis != other]
        if len(shape) != len(others) or (changed and not self.has_ranks):
            return False
        if not all(axis and axis < other for axis, other in changed):
            return False
        self.equal += [((axis,), (other,)) for axis, other in changed]
        return True

    def class_of(self, axis_of_tensor: int) -> int:
        """Return the number that all axes of a class share, until further axes are broadcast."""
        while axis_of_tensor in self._parents and self._parents[axis_of_tensor] != axis_of_tensor:
            axis_of_tensor = self._parents[axis_of_tensor]
        return axis_of_tensor

    def classes(self, shape: Shape) -> tuple[int, ...]:
        """Return the classes of the axes that may be longer than 1, in order.

        Raises
        ------
        SharedAxes
            Two axes belong to the same class, as in ``x[:, None] - x``.
        """
        found = tuple(self.class_of(next(iter(axis))) for axis in shape if axis)
        if len(set(found)) != len(found):
            raise SharedAxes("two axes of one array are broadcast together")
        return found
