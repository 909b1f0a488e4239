"""Shrink a call that shows an error: to fewer numbers, fewer axes, the usual attributes, and simpler numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from pykernels.load.samples import Sample

#: The smallest and the largest number.
Range: TypeAlias = "tuple[float, float] | None"

# Into how many pieces to cut an axis at most, and how many numbers to simplify one by one.
_PIECES, _FEW = 16, 12
# Numbers that are easy to read, and that samples without special numbers may have.
_SIMPLE = (1.0, 2.0, -1.0, 0.5)


def shrink(sample: Sample, usual: Mapping[str, Any], ranges: Sequence[Range], shows: Callable[[Sample], bool]) -> None:
    """Replace `sample` by a smaller call again and again, as long as `shows` returns whether one shows the error.

    Parameters
    ----------
    usual : mapping
        The usual values of all attributes.
    ranges : sequence of Range
        For each input argument, the smallest and largest number that it may have; None if any will do.
    """
    found: Sample | None = sample
    while found is not None:
        sample = found
        found = next((each for each in _smaller(sample, usual, ranges) if shows(each)), None)


def measure(sample: Sample) -> tuple[int, int, int]:
    """Return a measure that is smaller for calls that are easier to read."""
    arrays = list(chain(*sample.inputs))
    return (
        sum(array.size for array in arrays),
        sum(array.ndim for array in arrays),
        sum(len(str(value)) for array in arrays for value in array.ravel()),
    )


def _smaller(sample: Sample, usual: Mapping[str, Any], ranges: Sequence[Range]) -> Iterator[Sample]:
    """Yield calls that may be easier to read, the smallest first; the definition may refuse them."""
    for axes in _groups(sample):
        length = _length(sample, axes)
        size = length - 1 if length <= _PIECES else -(-length // 2)
        while size and length // size <= _PIECES:
            for start in range(0, length, size):
                yield _without(sample, axes, slice(start, start + size))
            size //= 2
    arrays = list(chain(*sample.inputs))
    most = max((array.ndim for array in arrays), default=0)
    for axis in range(most):
        if all(array.shape[axis] == 1 for array in arrays if array.ndim == most):
            yield _mapped(sample, partial(_without_axis, most, axis))
    if dict(usual) != dict(sample.attributes):
        yield Sample(sample.inputs, dict(usual))
    yield from _simpler(sample, ranges)


def _groups(sample: Sample) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield axes to shorten together, as numbers of array and axis: those of the same length, then each alone."""
    axes = [(i, axis) for i, array in enumerate(chain(*sample.inputs)) for axis in range(array.ndim)]
    lengths = {_length(sample, (each,)) for each in axes} - {0, 1}
    groups = [tuple(each for each in axes if _length(sample, (each,)) == n) for n in sorted(lengths, reverse=True)]
    alone = [(each,) for each in axes if _length(sample, (each,)) > 1]
    yield from dict.fromkeys([*groups, *alone])


def _length(sample: Sample, axes: tuple[tuple[int, int], ...]) -> int:
    array, axis = axes[0]
    return list(chain(*sample.inputs))[array].shape[axis]


def _without(sample: Sample, axes: tuple[tuple[int, int], ...], piece: slice) -> Sample:
    """Return a call without a piece of some axes."""
    numbers = iter(range(sum(map(len, sample.inputs))))

    def cut(array: np.ndarray) -> np.ndarray:
        number = next(numbers)
        for axis in (axis for i, axis in axes if i == number):
            array = np.delete(array, piece, axis)
        return array

    return _mapped(sample, cut)


def _without_axis(most: int, axis: int, array: np.ndarray) -> np.ndarray:
    """Return an array without an axis of length 1 if it has `most` axes."""
    return array.take(0, axis) if array.ndim == most else array


def _simpler(sample: Sample, ranges: Sequence[Range]) -> Iterator[Sample]:
    """Yield calls with simpler floating-point numbers: all of an array at once, then one by one."""
    for i, (group, within) in enumerate(zip(sample.inputs, ranges)):
        for j, array in enumerate(group):
            for changed in _changes(array, within) if array.dtype.kind == "f" else ():
                inputs = [list(each) for each in sample.inputs]
                inputs[i][j] = changed
                other = Sample(inputs, sample.attributes)
                if measure(other) < measure(sample):
                    yield other


def _changes(array: np.ndarray, within: Range) -> Iterator[np.ndarray]:
    if array.size > 1 and within is None:
        yield from (np.full_like(array, value) for value in _SIMPLE)
    for at in np.ndindex(array.shape) if array.size <= _FEW else ():
        value = float(array[at])
        rounded = [round(value, digits) for digits in (0, 1, 2)] if np.isfinite(value) else []
        low, high = within or (-np.inf, np.inf)
        for simple in [*(_SIMPLE if within is None else ()), *rounded]:
            if simple and low <= simple <= high:
                changed = array.copy()
                changed[at] = simple
                yield changed


def _mapped(sample: Sample, change: Callable[[np.ndarray], np.ndarray]) -> Sample:
    inputs = [[np.array(change(array), order="C") for array in group] for group in sample.inputs]
    return Sample(inputs, sample.attributes)
