"""Evaluate views of arrays: axes of length 1, slices, other axes; and lengths as numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pykernels.kernel.expression.array_nodes import Counted, Extent, Reshaped, Sliced, View, keywords_of
from pykernels.kernel.expression.axes import CALCULATIONS, COUNT, NUMBER, UNIT, Axes, Axis, Shape, encoded
from pykernels.kernel.expression.evaluation import Evaluation
from pykernels.kernel.expression.nodes import Input, Node, Operation, dtype_of

__all__ = ["Unfixed", "ViewEvaluation"]

_FLOOR_DIVIDE, _ADD, _SUBTRACT, _MAXIMUM, _MINIMUM = (
    CALCULATIONS[name] for name in ("floor_divide", "add", "subtract", "maximum", "minimum")
)


class Unfixed(Exception):
    """The expression depends on the values of numbers that are given at run time; `slots` tells which."""

    def __init__(self, slots: frozenset[int]) -> None:
        super().__init__(slots)
        self.slots = slots


class ViewEvaluation(Evaluation):
    """The evaluation of one call of a function, where the axes of arrays are known."""

    def __init__(self, function: Callable[..., Any], helpers: Sequence[Any], depth: int, axes: Axes) -> None:
        super().__init__(function, helpers, depth)
        self._axes = axes

    def _shares(self, value: Any, node: Node) -> bool:
        return super()._shares(_viewed(value), _viewed(node))

    def _fits(self, new: Node, old: Node) -> bool:
        return self._axes.shape_of(new) == self._axes.shape_of(old)

    def _once(self, made: Node, *how: Any) -> Node:
        """What was made in the same way before, if anything was."""
        key = tuple(part.order if isinstance(part, Node) else (type(part), repr(part)) for part in how)
        return self._axes.made.setdefault((type(made), type(made.sample), key), made)

    # ---- what is known about shapes

    def _require_known(self, value: Any) -> None:
        """Ask for the values of attributes, if `value` depends on nothing else."""
        if isinstance(value, Node):
            slots = keywords_of(value)
            if slots:
                raise Unfixed(slots)

    def _length(self, axis: frozenset[int]) -> Any:
        return self._count((axis,))

    def _count(self, shape: Shape) -> Any:
        return self._once(Extent(1, shape=shape), shape) if any(shape) else 1

    # ---- parts

    def _indexed(self, node: ast.Subscript, owner: Node) -> Node:
        """``x[:, None]``, ``x[..., 1:]``, ``x[0]`` and their like."""
        given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        index = [self._part_of_index(node, part) for part in given]
        axes = list(self._axes.shape_of(owner))
        n_axes = sum(part is not None and part is not Ellipsis for part in index)
        if n_axes > len(axes) or index.count(Ellipsis) > 1:
            raise self._refusal(node, "an index that does not fit")
        at = index.index(Ellipsis) if Ellipsis in index else len(index)
        index[at : at + 1] = [slice(None)] * (len(axes) - n_axes)
        if all(part is None or part == slice(None) for part in index):
            return self._view(owner, tuple(UNIT if part is None else axes.pop(0) for part in index))
        if not isinstance(owner, Input):
            raise self._refusal(node, "an index of what is computed")
        parts, shape = [], []
        for part in index:
            if part is None:
                shape.append(UNIT)
                continue
            axis = axes.pop(0)
            first, step, own = self._sliced(node, axis, part)
            if own is not None:
                shape.append(own)
            parts.append((first, step, -1 if own is None else min(own)))
        made = Sliced(np.ones(1, dtype_of(owner)), owner.inputs, operand=owner, parts=tuple(parts))
        self._axes.note(made, tuple(shape))
        return made

    def _part_of_index(self, node: ast.AST, part: ast.expr) -> Any:
        if isinstance(part, ast.Slice):
            bounds = [None if each is None else self._value(each) for each in (part.lower, part.upper, part.step)]
        else:
            bounds = [self._value(part)]
        for bound in bounds:
            self._require_known(bound)
        if isinstance(part, ast.Slice):
            if not (bounds[2] is None or (isinstance(bounds[2], int) and bounds[2] > 0)):
                raise self._refusal(node, "a slice that steps backwards")
            return slice(*bounds)
        (found,) = bounds
        if found is None or found is Ellipsis or (isinstance(found, (int, Node)) and not isinstance(found, bool)):
            return found
        raise self._refusal(node, "an index")

    def _sliced(self, node: ast.AST, axis: Axis, part: Any) -> tuple[int, int, Axis | None]:
        """The position of the first index, the step, and the new axis."""
        length = [COUNT, *encoded((axis,))]
        if part == slice(None):
            # An axis of its own: ``x[:, None, 0] - x[None, :, 0]`` has two of them.
            (own,) = self._axes.add([length])
            return -1, 1, own
        if not isinstance(part, slice):
            first = self._index(node, part, length)
            # An index past the end makes the second of these negative, which is an error.
            (made, _) = self._axes.add([first, [*length, NUMBER, 1, _SUBTRACT, *first, _SUBTRACT]])
            return min(made), 1, None
        step = part.step or 1
        first = [NUMBER, 0] if part.start is None else self._bound(node, part.start, length)
        last = length if part.stop is None else self._bound(node, part.stop, length)
        count = [*last, *first, _SUBTRACT, NUMBER, step - 1, _ADD, NUMBER, step, _FLOOR_DIVIDE, NUMBER, 0, _MAXIMUM]
        made, own = self._axes.add([first, count])
        return min(made), step, own

    def _index(self, node: ast.AST, index: Any, length: list[int]) -> list[int]:
        """An index, counted from the first."""
        if isinstance(index, int) and index < 0:
            return [*length, NUMBER, -index, _SUBTRACT]
        return self._calculation(node, index)

    def _bound(self, node: ast.AST, bound: Any, length: list[int]) -> list[int]:
        """An end of a slice, which may be beyond the array."""
        return [*self._index(node, bound, length), NUMBER, 0, _MAXIMUM, *length, _MINIMUM]

    def _view(self, owner: Node, shape: Shape) -> Node:
        # An array of no axes that an operation made is a number of NumPy's.
        sample = np.ones(1, dtype_of(owner)) if shape else dtype_of(owner).type(1)
        view = View(sample, owner.inputs, operand=owner)
        self._axes.note(view, shape)
        return self._once(view, owner, shape)

    # ---- other axes

    def _counted(self, node: ast.Call, length: Extent) -> Node:
        if len(length.shape) != 1:
            raise self._refusal(node, "a range of the length of several axes")
        made = Counted(np.arange(1), frozenset())
        self._axes.note(made, length.shape)
        return self._once(made, length)

    def _expanded(self, node: ast.Call, value: Node, axis: Any) -> Node:
        shape = list(self._axes.shape_of(value))
        added = self._places(node, axis, len(shape) + (len(axis) if isinstance(axis, tuple) else 1))
        for at in sorted(added):
            shape.insert(at, UNIT)
        return self._view(value, tuple(shape))

    def _squeezed(self, node: ast.Call, value: Node, axis: Any) -> Node:
        shape = self._axes.shape_of(value)
        gone = self._places(node, axis, len(shape))
        if any(shape[at] for at in gone):
            raise self._refusal(node, "a squeeze of an axis that may be longer than 1")
        return self._view(value, tuple(axis for at, axis in enumerate(shape) if at not in gone))

    def _reshaped(self, node: ast.Call, value: Node, positional: list[Any], keywords: dict[str, Any]) -> Node:
        given = positional[0] if len(positional) == 1 and isinstance(positional[0], tuple) else tuple(positional)
        if keywords or not given:
            raise self._refusal(node, "a reshape with these arguments")
        for length in given:
            self._require_known(length)
        shape = self._axes.shape_of(value)
        view = self._with_units(shape, given)
        if view is not None:
            return self._view(value, view)
        lengths = [self._calculation(node, length) for length in given if not _is_rest(length)]
        if len(given) - len(lengths) > 1:
            raise self._refusal(node, "a reshape to several axes of unknown length")
        rest = [COUNT, *encoded(shape), NUMBER, 1]
        for length in lengths:
            rest += [*length, CALCULATIONS["multiply"]]
        rest.append(CALCULATIONS["floor_divide"])
        known = iter(lengths)
        made = Reshaped(np.ones(1, dtype_of(value)), value.inputs, operand=value)
        self._axes.note(made, self._axes.add([rest if _is_rest(length) else next(known) for length in given]))
        return self._once(made, value, *given)

    def _with_units(self, shape: Shape, lengths: Sequence[Any]) -> Shape | None:
        """The shape that is reshaped to these lengths, if nothing but axes of length 1 come and go."""
        longer = [axis for axis in shape if axis]
        made = []
        for length in lengths:
            if (not isinstance(length, Node) and length == 1) or (_is_rest(length) and not longer):
                made.append(UNIT)
            elif longer and ((_is_rest(length) and len(longer) == 1) or _is_length(length, longer[0])):
                made.append(longer.pop(0))
            else:
                return None
        return None if longer else tuple(made)

    def _calculation(self, node: ast.AST, length: Any) -> list[int]:
        """How a length is found, for `Axes.lengths`."""
        if isinstance(length, Extent):
            return [COUNT, *encoded(length.shape)]
        if isinstance(length, Operation) and length.name in CALCULATIONS and length.dtype.kind == "i":
            steps = [step for operand in length.operands for step in self._calculation(node, operand)]
            return [*steps, CALCULATIONS[length.name]]
        if isinstance(length, (int, np.integer)) and 0 <= length < 2**31:
            return [NUMBER, int(length)]
        raise self._refusal(node, "a reshape to lengths that are no simple numbers")

    def _places(self, node: ast.AST, axis: Any, rank: int) -> frozenset[int]:
        """Axes, counted from the first."""
        if axis is None:
            return frozenset(range(rank))
        for each in axis if isinstance(axis, tuple) else (axis,):
            self._require_known(each)
        places = axis if isinstance(axis, tuple) else (axis,)
        if not all(isinstance(at, (int, np.integer)) and -rank <= at < rank for at in places):
            raise self._refusal(node, "an axis that there is not")
        found = frozenset(int(at) % rank for at in places)
        if len(found) != len(places):
            raise self._refusal(node, "an axis twice")
        return found


def _viewed(value: Any) -> Any:
    """The array that a view is of."""
    while isinstance(value, (Reshaped, Sliced, View)):
        value = value.operand
    return value


def _is_rest(length: Any) -> bool:
    return not isinstance(length, Node) and bool(length == -1)


def _is_length(value: Any, axis: Axis) -> bool:
    return isinstance(value, Extent) and value.shape == (axis,)
