"""Compare gradients with finite differences, and recognise where a function has no gradient."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from pykernels.base.dtypes import real
from pykernels.base.errors import KernelError
from pykernels.call.steps import Step
from pykernels.tools.check.execution import run_compiled

#: The gradient of each output of a step; None for those that do not matter.
Seeds = Sequence["np.ndarray | None"]
_Arrays = Sequence[np.ndarray]

#: The dtypes in which finite differences are exact enough.
WIDE = (np.dtype(np.float64), np.dtype(np.complex128))
_STEP = 1e-6
# The step grows with the moved number up to this factor, so that it does not skip a period of a sine.
_WIDEST = 100.0
# How many times smaller the step becomes if they differ.
_CLOSER = 8
#: How much a gradient may differ from a finite difference, relative to the size of the terms.
TOLERANCE = 2e-6
# How many pairs of directions to try at a kink, the smallest difference of slopes there, and how far away to compare.
_DIRECTIONS, _LEAST_BEND, _ASIDE = 8, 1e-4, 1e-3
# How many elements of each input to move.
_MOVED = 24


class WrongSlope(NamedTuple):
    """An element of a gradient that is not the slope that finite differences give."""

    #: Its place, itself and the slope.
    text: str
    found: float


def wrong_slope(step: Step, array: np.ndarray, values: np.ndarray, seeds: Seeds) -> WrongSlope | None:
    """Move one number of an input after the other; return what is wrong with its gradient `values`, or None.

    Both parts of complex numbers are moved: by PyTorch's convention, their slopes are the parts of the gradient.
    """
    flat, found = parts_of(array), parts_of(values)
    places = range(flat.size)
    if flat.size > _MOVED:
        places = np.random.default_rng(0).choice(flat.size, _MOVED, replace=False).tolist()
    here, scale = _value(step, seeds)
    has_results = any(output.size for output in chain(*step.outputs))

    def sides(at: int, width: float) -> list[float]:
        """Return the slopes below and above, sorted; NaN if the kernel refuses the numbers there."""
        before, found = float(flat[at]), []
        for distance in (-width, width):
            flat[at] = before + distance
            try:
                found.append((_value(step, seeds)[0] - here) / distance)
            except KernelError:
                found.append(np.nan)
        flat[at] = before
        return sorted(found)

    for at in places:
        width = _STEP * min(max(1.0, abs(float(flat[at]))), _WIDEST)
        low, high = sides(at, width)
        # Without results, an op does not show for which numbers it is finite.
        if not np.isfinite([low, high]).all() or not (has_results or np.isfinite(found[at])):
            continue
        slope = (low + high) / 2
        # The second term is the rounding error of a difference of numbers of this size.
        allowed = TOLERANCE * max(1.0, abs(slope), abs(found[at])) + 4e-15 * scale / width
        # At a kink, where the sides differ, any slope between them is a derivative.
        if low - allowed <= found[at] <= high + allowed:
            continue
        closer = sides(at, width / _CLOSER)
        # At a jump, or where the slope is infinite, a smaller step gives a steeper slope.
        if max(map(abs, closer)) > 2 * (max(abs(low), abs(high)) + _CLOSER * allowed):
            continue
        # Allow for cancellation of large numbers, and for a slope that changes within a step.
        allowed += 2 * max(abs(closer[0] - low), abs(closer[1] - high))
        if low - allowed <= found[at] <= high + allowed:
            continue
        of_each = flat.size // array.size
        place = ", ".join(map(str, map(int, np.unravel_index(at // of_each, array.shape))))
        part = "" if of_each == 1 else (".real", ".imag")[at % 2]
        text = f"{f'[{place}]' if place else ''}{part} is {found[at]:.9g}, but finite differences give {slope:.9g}"
        return WrongSlope(text, float(found[at]))
    return None


def _value(step: Step, seeds: Seeds) -> tuple[float, float]:
    """Return the sum of outputs times their gradients, whose slopes the gradients are, and the size of its terms."""
    total, size = 0.0, 0.0
    for output, seed in zip(run_compiled(step), seeds):
        if seed is not None:
            with np.errstate(all="ignore"):
                wide = np.result_type(seed.dtype, np.float64)
                terms = parts_of(output.astype(wide)) * parts_of(seed.astype(wide))
                total, size = total + float(terms.sum()), size + float(np.abs(terms).sum())
    return total, size


def is_kink(step: Step, seeds: Seeds) -> bool:
    """Return whether the slopes along some directions do not add up, so that no gradient is the right one."""
    rng = np.random.default_rng(0)
    before = [array.copy() for array in _moving(step)]
    try:
        for _ in range(_DIRECTIONS):
            one, other = ([rng.uniform(-1, 1, array.shape) for array in before] for _ in range(2))
            far, near = (_bend(step, seeds, before, one, other, width) for width in (_STEP, _STEP / _CLOSER))
            # The bend of a smooth function shrinks with the step.
            if near > max(0.5 * far, _LEAST_BEND):
                return True
    finally:
        _move(step, before)
    return False


def _bend(step: Step, seeds: Seeds, at: _Arrays, one: _Arrays, other: _Arrays, width: float) -> float:
    """Return how far the slope along the sum of two directions is from the sum of the slopes, for the size of these.

    It is 0 if rounding errors explain it, or there is no slope.
    """
    values, scale = [], 0.0
    try:
        for a, b in ((0, 0), (width, 0), (0, width), (width, width)):
            _move(step, [array + a * first + b * second for array, first, second in zip(at, one, other)])
            value, size = _value(step, seeds)
            values.append(value)
            scale = max(scale, size)
    except KernelError:
        return 0.0
    here, first, second, both = values
    size = max(width, abs(first - here), abs(second - here))
    bend = (abs(both - first - second + here) - 16e-15 * scale) / size
    return bend if np.isfinite(bend) else 0.0


def step_aside(step: Step) -> None:
    """Move the inputs a little, so that no two numbers are equal and none lies at a kink."""
    rng = np.random.default_rng(1)
    for array in _moving(step):
        array += _ASIDE * rng.uniform(-1, 1, array.shape) * np.maximum(1, np.abs(array))


def has_ties(step: Step) -> bool:
    """Return whether two numbers of the inputs are equal."""
    numbers = np.concatenate([array.ravel() for array in _moving(step)])
    return bool(np.unique(numbers).size < numbers.size)


def _moving(step: Step) -> list[np.ndarray]:
    return [parts_of(array) for array in chain(*step.inputs) if array.dtype in WIDE]


def parts_of(array: np.ndarray) -> np.ndarray:
    """Return the numbers of a contiguous array along one axis, both parts of complex ones, as a view."""
    return array.reshape(-1).view(real(array.dtype))


def _move(step: Step, values: _Arrays) -> None:
    for array, value in zip(_moving(step), values):
        array[...] = value
