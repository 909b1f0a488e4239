"""Replace functions that move elements, NumPy's and `reversed`: contiguous runs at a time, along any axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba import types as nb
from numba.core import errors
from numba.np.numpy_support import as_dtype

from pykernels.kernel.numba.copying import copy
from pykernels.kernel.numba.functions.views import arranged, flipped, sliced
from pykernels.kernel.numba.implementing import compiled, implements, is_integer, require_known


def positions(axes: Any, ndim: int, what: str) -> tuple[int, ...]:
    """Return the positions of known axes, a number or a tuple.

    Raises
    ------
    TypingError
        An axis is not known, is not there, or occurs twice. numba's error, with the reason.
    """
    given = _several(axes)
    for axis in given:
        require_known(axis, what)
    if not all(is_integer(axis) and -ndim <= axis < ndim for axis in given):
        raise errors.TypingError("there is no such axis")
    found = tuple(int(axis) % ndim for axis in given)
    if len(set(found)) < len(found):
        raise errors.TypingError("an axis occurs twice")
    return found


def _several(axes: Any) -> tuple[Any, ...]:
    return axes if isinstance(axes, tuple) else (axes,)


@implements(np.flip)
def _flip(m: Any, axis: Any = None) -> Any:
    if not isinstance(m, nb.Array):
        return None
    axes = tuple(range(m.ndim)) if axis is None else positions(axis, m.ndim, "the axis of flip")
    return lambda m: flipped(m, axes)


@implements(np.flipud)
def _flipud(m: Any) -> Any:
    return (lambda m: flipped(m, (0,))) if isinstance(m, nb.Array) and m.ndim > 0 else None


@implements(np.fliplr)
def _fliplr(m: Any) -> Any:
    return (lambda m: flipped(m, (1,))) if isinstance(m, nb.Array) and m.ndim > 1 else None


@implements(reversed)
def _reversed(sequence: Any) -> Any:
    if isinstance(sequence, nb.RangeType):
        return _reversed_range
    is_sliced = isinstance(sequence, nb.BaseTuple) or (isinstance(sequence, nb.Array) and sequence.ndim > 0)
    return (lambda sequence: sequence[::-1]) if is_sliced else None


def _reversed_range(sequence: Any) -> Any:
    last = sequence.start + (len(sequence) - 1) * sequence.step
    return range(last, sequence.start - sequence.step, -sequence.step)


@implements(np.rot90)
def _rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    if not isinstance(m, nb.Array) or not is_integer(k):
        return None
    require_known(k, "the number of rotations")
    first, second = positions(axes, m.ndim, "the axes of rot90")
    turned = list(range(m.ndim))
    if k % 2:
        turned[first], turned[second] = second, first
    # The view is transposed first, so that the axes to reverse are those of the result.
    order, reversed_axes = tuple(turned), ((), (first,), (first, second), (second,))[k % 4]
    return lambda m: flipped(arranged(m, order), reversed_axes)


def _roller(places: Mapping[int, tuple[int, ...]]) -> Callable[..., Any]:
    """Return a function that copies an array, rotated along each axis by the shifts at places of a tuple."""
    if not places:

        @compiled
        def copy_all(target: Any, source: Any, shifts: Any) -> None:
            copy(target, source)

        return copy_all
    (axis, own), *others = places.items()
    shift_of, roll_others = _sum_at(own), _roller(dict(others))

    @compiled
    def roll(target: Any, source: Any, shifts: Any) -> None:
        n = source.shape[axis]
        if n > 0:
            shift = shift_of(shifts) % n
            roll_others(sliced(target, axis, shift, n - shift), sliced(source, axis, 0, n - shift), shifts)
            roll_others(sliced(target, axis, 0, shift), sliced(source, axis, n - shift, shift), shifts)

    return roll


def _sum_at(places: tuple[int, ...]) -> Callable[..., Any]:
    """Return a function that adds the numbers at places of a tuple."""
    place = places[0]
    if len(places) == 1:
        return compiled(lambda numbers: numbers[place])
    sum_others = _sum_at(places[1:])
    return compiled(lambda numbers: numbers[place] + sum_others(numbers))


@implements(np.roll)
def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    several = isinstance(shift, (tuple, nb.BaseTuple))
    if not isinstance(a, nb.Array) or not all(map(is_integer, shift if several else (shift,))):
        return None
    axes = (0,) if axis is None else [positions(each, a.ndim, "the axis of roll")[0] for each in _several(axis)]
    n_shifts, dtype = len(shift) if several else 1, as_dtype(a.dtype)
    n_pairs = max(n_shifts, len(axes)) if n_shifts and axes else 0
    if {n_shifts, len(axes)} - {1, n_pairs}:
        return None
    places: dict[int, tuple[int, ...]] = {}
    for at in range(n_pairs):
        own = axes[at % len(axes)]
        places[own] = (*places.get(own, ()), at % n_shifts)
    roll_axes = _roller(places)

    def roll_all(a: Any, shift: Any) -> Any:
        made = np.empty(a.shape, dtype)
        roll_axes(made.reshape(a.size), np.ravel(a), shifts_of(shift))
        return made

    def roll(a: Any, shift: Any) -> Any:
        made = np.empty(a.shape, dtype)
        roll_axes(made, a, shifts_of(shift))
        return made

    shifts_of = compiled((lambda shift: shift) if several else (lambda shift: (shift,)))
    return roll_all if axis is None else roll
