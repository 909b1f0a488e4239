"""Select elements of arrays and permute their axes: inputs are read with other strides, all else follows from them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pykernels.kernel.expression import array_nodes
from pykernels.kernel.expression.array_nodes import (
    Counted,
    Joined,
    Part,
    Reduction,
    Reshaped,
    Scattered,
    Sliced,
    Strides,
    View,
)
from pykernels.kernel.expression.axes import NUMBER, UNIT, Axes, Axis, Shape
from pykernels.kernel.expression.construction import apply
from pykernels.kernel.expression.joining import join
from pykernels.kernel.expression.lengths import ADD, MAXIMUM, MINIMUM, MULTIPLY, SUBTRACT, length_of
from pykernels.kernel.expression.nodes import Input, Node, NotExpressible, Operand, Operation, dtype_of
from pykernels.kernel.expression.operations import BINARY


@dataclass(frozen=True, eq=False)
class Pick:
    """Every `step`-th index of an axis from a first one on."""

    axis: Axis
    #: The position of an axis whose length is the first index.
    first: int
    step: int
    #: The position of the axis of the picked elements, or -1 for a single element without an axis.
    own: int


def view(axes: Axes, value: Node, shape: Shape) -> Node:
    """Return the same elements with axes of length 1 added or removed."""
    if isinstance(value, Joined):
        return _view_of_joined(axes, value, shape)
    # A 0-d result of an operation is a NumPy number.
    dtype = np.asarray(value.sample).dtype
    made = View(np.ones(1, dtype) if shape else dtype.type(1), operand=value)
    axes.note(made, shape)
    return axes.once(made, value, shape)


def reshape(axes: Axes, value: Node, shape: Shape) -> Node:
    """Return the same elements with axes of other lengths."""
    before = axes.shape_of(value)
    if [axis for axis in before if axis] == [axis for axis in shape if axis]:
        return view(axes, value, shape)
    axes.equal.append((before, shape))
    return _in_memory(axes, value, shape)


def _in_memory(axes: Axes, value: Node, shape: Shape) -> Node:
    made = Reshaped(np.ones(1, dtype_of(value)), operand=value)
    axes.note(made, shape)
    return axes.once(made, value, shape)


def opened(axes: Axes, value: Node) -> Node:
    """Return stacked arrays that are reshaped behind the axis along which they lie as stacked reshaped arrays.

    Any other value is returned as it is.
    """
    if type(value) is View:
        found = opened(axes, value.operand)
        return value if found is value.operand else view(axes, found, axes.shape_of(value))
    if not isinstance(value, Reshaped) or not isinstance(value.operand, Joined):
        return value
    joined = value.operand
    before, after = axes.shape_of(joined), axes.shape_of(value)
    at = len(before) + joined.axis
    if any(axes.shape_of(part)[at] for part in joined.parts) or len(after) <= at:
        return value
    if not (axes.are_alike(before[at], after[at]) or axes.has_length(after[at], len(joined.parts))):
        return value
    # Along other axes than that, all parts have the same lengths.
    if not all(map(axes.are_alike, axes.shape_of(joined.parts[0])[:at], after[:at])):
        return value
    parts = [reshape(axes, part, (*after[:at], UNIT, *after[at + 1 :])) for part in joined.parts]
    return join(axes, parts, at - len(after))


def rearrange(axes: Axes, value: Node, order: Sequence[int], picks: Mapping[int, Pick], *, moves_axes: bool) -> Node:
    """Return elements of an array, with its axes in another order.

    Parameters
    ----------
    order : sequence of int
        For each axis of the result, the axis of the array.
    picks : mapping of int to Pick
        What to select from some axes of the array.
    moves_axes : bool
        Whether the result may have axes of the array in other places.

    Raises
    ------
    NotExpressible
        The array cannot be computed in another order.
    """
    made = _Rearrangement(axes, moves_axes and axes.separates_views).of(value, tuple(order), dict(picks))
    # An array whose view is joined is joined itself, and never changed in place.
    if made is value or isinstance(made, Joined):
        return made
    part = Part(made.sample, operand=made, base=value)
    axes.note(part, axes.shape_of(made))
    return part


def _view_of_joined(axes: Axes, value: Joined, shape: Shape) -> Node:
    own = axes.shape_of(value)
    places = [at for at, axis in enumerate(own) if axis]
    moved = dict(zip(places, (at for at, axis in enumerate(shape) if axis)))
    parts = []
    for part in value.parts:
        found = {moved[at]: axis for at, axis in enumerate(axes.shape_of(part)) if at in moved}
        parts.append(view(axes, part, tuple(found.get(at, UNIT) for at in range(len(shape)))))
    return join(axes, parts, moved[len(own) + value.axis] - len(shape))


class _Rearrangement:
    """One rearrangement; an array that is used several times is rearranged once."""

    def __init__(self, axes: Axes, separates: bool) -> None:
        self._axes = axes
        self._separates = separates
        self._made: dict[object, Node] = {}
        self._kept: dict[int, int] = {}
        self._picked: dict[tuple[Pick, int], tuple[int, int]] = {}

    def of(self, value: Node, order: tuple[int, ...], picks: dict[int, Pick]) -> Node:
        shape = self._axes.shape_of(value)
        self._axes.classes(shape)
        picks = {at: pick for at, pick in picks.items() if shape[at]}
        long = [at for at in order if shape[at]]
        if not long or (not picks and long == sorted(long) and not self._separates):
            moved = tuple(shape[at] for at in order)
            return value if moved == shape else view(self._axes, value, moved)
        value = opened(self._axes, value)
        key = (value, order, tuple(sorted((at, id(pick)) for at, pick in picks.items())))
        if key not in self._made:
            self._made[key] = self._make(value, order, picks)
        return self._made[key]

    def _make(self, value: Node, order: tuple[int, ...], picks: dict[int, Pick]) -> Node:
        if isinstance(value, View):
            return self._view(value, order, picks)
        if isinstance(value, Operation):
            return self._operation(value, order, picks)
        if isinstance(value, Scattered):
            return self._read(_in_memory(self._axes, value, self._axes.shape_of(value)), order, picks)
        if isinstance(value, Reduction):
            return self._reduction(value, order, picks)
        if isinstance(value, Joined):
            return self._joined(value, order, picks)
        if isinstance(value, Counted):
            return self._counted(value, picks)
        if isinstance(value, (Input, Reshaped, Sliced)):
            return self._read(value, order, picks)
        raise NotExpressible("a part of an array")

    def _read(self, value: Node, order: tuple[int, ...], picks: dict[int, Pick]) -> Node:
        shape = self._axes.shape_of(value)
        if isinstance(value, Sliced):
            source, before = value.operand, value.strides
        else:
            source, before = value, tuple(Strides(-1, 1, at, at) for axis in shape for at in axis)
        axes_of = {own: at for at, axis in enumerate(shape) for own in axis}
        strides = []
        for each in before:
            pick = picks.get(axes_of.get(each.own, -1))
            if pick is not None:
                first, own = self._pick(pick, each.own)
                if (each.first, each.step) != (-1, 1):
                    start = [NUMBER, 0] if each.first < 0 else length_of(each.first)
                    # The first index of a part without elements may lie before the array.
                    steps = [*start, *length_of(first), NUMBER, each.step, MULTIPLY, ADD, NUMBER, 0, MAXIMUM]
                    first = self._position(steps)
                each = replace(each, first=first, step=each.step * pick.step, own=own)
            elif each.own >= 0:
                each = replace(each, own=self._keep(each.own))
            strides.append(each)
        made = Sliced(np.ones(1, value.sample.dtype), operand=source, strides=tuple(strides))
        self._axes.note(made, self._shape(shape, order, picks))
        return made

    def _view(self, value: View, order: tuple[int, ...], picks: dict[int, Pick]) -> Node:
        shape, within = self._axes.shape_of(value), self._axes.shape_of(value.operand)
        # Both have the same axes in the same order, but for those of length 1.
        long, units = ([at for at, axis in enumerate(within) if bool(axis) is is_long] for is_long in (True, False))
        at_within = dict(zip((at for at, axis in enumerate(shape) if axis), long))
        places = [at_within[at] for at in order if at in at_within]
        for at in units:
            # A reduction has length 1 where its operand is longer: that axis stays where it was.
            places.insert(at, at)
        if shape == within:
            places = list(order)
        operand = self.of(value.operand, tuple(places), {at_within[at]: pick for at, pick in picks.items()})
        found = dict(zip(places, self._axes.shape_of(operand)))
        return view(self._axes, operand, tuple(found[at_within[at]] if at in at_within else UNIT for at in order))

    def _operation(self, value: Operation, order: tuple[int, ...], picks: dict[int, Pick]) -> Node:
        shape, operands = self._axes.shape_of(value), list[Operand]()
        for operand in value.operands:
            if isinstance(operand, Node) and self._axes.has(operand):
                own = self._axes.shape_of(operand)
                full = (UNIT,) * (len(shape) - len(own)) + own
                operands.append(self.of(operand if full == own else view(self._axes, operand, full), order, picks))
            else:
                operands.append(operand)
        made = Operation(value.sample, name=value.name, operands=tuple(operands), dtype=value.dtype)
        if self._axes.broadcast(map(self._axes.shape_of, value.operands)) != shape:
            # The shape is that of another array.
            self._axes.note(made, self._shape(shape, order, picks))
            return made
        return self._axes.once(made, made.name, made.dtype, *operands)

    def _reduction(self, value: Reduction, order: tuple[int, ...], picks: dict[int, Pick]) -> Node:
        shape, within = self._axes.shape_of(value), self._axes.shape_of(value.operand)
        operand = self.of(value.operand, order, picks)
        found = self._axes.shape_of(operand)
        gone = [place for place, at in enumerate(order) if within[at] and not shape[at]]
        made = Reduction(
            value.sample,
            name=value.name,
            operand=operand,
            folded=tuple(found[place] for place in gone),
            may_be_empty=value.may_be_empty,
        )
        self._axes.note(made, tuple(UNIT if place in gone else axis for place, axis in enumerate(found)))
        return self._axes.once(made, made.name, operand, gone, made.may_be_empty)

    def _joined(self, value: Joined, order: tuple[int, ...], picks: dict[int, Pick]) -> Node:
        at = len(order) + value.axis
        if at in picks:
            raise NotExpressible("a part of what is joined along that axis")
        parts = [self.of(part, order, picks) for part in value.parts]
        return join(self._axes, parts, order.index(at) - len(order))

    def _counted(self, value: Counted, picks: dict[int, Pick]) -> Node:
        (axis,) = self._axes.shape_of(value)
        made = Counted(value.sample)
        self._axes.note(made, self._shape((axis,), (0,), picks))
        if not picks:
            return made
        (pick,) = picks.values()
        if axis != pick.axis:
            raise NotExpressible("a part of a range that is broadcast")
        first = array_nodes.Extent(1, shape=(frozenset({pick.first}),))
        multiple = apply(BINARY[ast.Mult], [made, pick.step], self._axes)
        return apply(BINARY[ast.Add], [multiple, first], self._axes)  # type: ignore[no-any-return]

    # ---- axes

    def _shape(self, shape: Shape, order: Sequence[int], picks: Mapping[int, Pick]) -> Shape:
        made = []
        for at in order:
            pick = picks.get(at)
            found = (self._keep(each) if pick is None else self._pick(pick, each)[1] for each in shape[at])
            made.append(frozenset(each for each in found if each >= 0))
        return tuple(made)

    def _position(self, steps: list[int]) -> int:
        ((position,),) = self._axes.add([steps])
        return position

    def _keep(self, axis: int) -> int:
        """Return the axis of the result for one of the array."""
        if not self._separates:
            return axis
        if axis not in self._kept:
            self._kept[axis] = self._position(length_of(axis))
        return self._kept[axis]

    def _pick(self, pick: Pick, axis: int) -> tuple[int, int]:
        """Return the first index and the own axis of what is picked from one of the axes that are broadcast."""
        if pick.axis == {axis}:
            return pick.first, pick.own
        if (pick, axis) not in self._picked:
            # 0 if this axis has length 1 and is broadcast, otherwise 1.
            missing = [*length_of(*pick.axis), *length_of(axis), SUBTRACT, NUMBER, 0, MAXIMUM]
            is_whole = self._position([NUMBER, 1, *missing, NUMBER, 1, MINIMUM, SUBTRACT])
            first = self._position([*length_of(pick.first), *length_of(is_whole), MULTIPLY])
            own = -1
            if pick.own >= 0:
                count = [*length_of(pick.own), *length_of(is_whole), MULTIPLY]
                own = self._position([*count, NUMBER, 1, ADD, *length_of(is_whole), SUBTRACT])
            self._picked[pick, axis] = first, own
        return self._picked[pick, axis]
