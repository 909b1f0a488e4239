"""Find, gather and scatter the elements of contiguous vectors that flags select, in blocks of flags."""

from __future__ import annotations

from typing import Any

import numpy as np

from pykernels.kernel.numba.copying import reinterpret
from pykernels.kernel.numba.target import compile_function

_compiled = compile_function(error_model="numpy", boundscheck=False)
# The number of flags that are looked at together: a vectorised loop of known length has no scalar remainder.
_BLOCK = 64


@_compiled
def flags_of(mask: Any, shape: Any) -> Any:
    """Return a mask as a contiguous vector of bytes, which need not be 0 or 1, after a check of its shape."""
    if mask.shape != shape:
        raise IndexError("the mask has another shape")
    return reinterpret(np.ascontiguousarray(mask).reshape(mask.size), np.uint8)


@_compiled
def count_of(flags: Any) -> Any:
    """Return the number of true elements."""
    count = 0
    for begin in range(0, flags.size, _BLOCK):
        count += _count_in_block(flags, begin)
    return count


@_compiled
def _count_in_block(flags: Any, begin: Any) -> Any:
    block, count = flags[begin : begin + _BLOCK], np.uint8(0)
    if block.size == _BLOCK:
        for i in range(_BLOCK):
            count = np.uint8(count + (block[i] != 0))
    else:
        for i in range(block.size):
            count = np.uint8(count + (block[i] != 0))
    return np.intp(count)


@_compiled
def positions_of(flags: Any) -> Any:
    """Return the positions of the true elements."""
    made, at = np.empty(count_of(flags) + 1, np.intp), 0  # one more, which the last false elements overwrite
    for begin in range(0, flags.size, _BLOCK):
        if _count_in_block(flags, begin) > 0:
            for i in range(begin, min(begin + _BLOCK, flags.size)):
                made[at] = i
                at += flags[i] != 0
    return made[:at]


@_compiled
def compress(vector: Any, flags: Any, made: Any) -> None:
    """Write the selected elements of a vector to `made`, which has as many."""
    at = 0
    for begin in range(0, flags.size, _BLOCK):
        end, count = min(begin + _BLOCK, flags.size), _count_in_block(flags, begin)
        if count == end - begin:
            made[at : at + count] = vector[begin:end]
            at += count
        elif at + count < made.size:
            for i in range(begin, end if count > 0 else begin):
                made[at] = vector[i]  # the next selected element overwrites any other
                at += flags[i] != 0
        else:
            for i in range(begin, end):
                if flags[i]:
                    made[at] = vector[i]
                    at += 1


@_compiled
def expand(vector: Any, flags: Any, given: Any) -> None:
    """Write `given`, one element for each that is selected, to the selected elements of a vector."""
    at, last = 0, given.size - 1
    for begin in range(0, flags.size, _BLOCK):
        end, count = min(begin + _BLOCK, flags.size), _count_in_block(flags, begin)
        if count == end - begin:
            vector[begin:end] = given[at : at + count]
            at += count
        else:
            for i in range(begin, end if count > 0 else begin):
                new, is_selected = given[min(at, last)], flags[i] != 0  # the flags may be the vector
                vector[i] = new if is_selected else vector[i]
                at += is_selected


@_compiled
def fill_selected(vector: Any, flags: Any, value: Any) -> None:
    """Write a number to the selected elements of a vector."""
    for begin in range(0, flags.size, _BLOCK):
        if _count_in_block(flags, begin) > 0:
            part, block = vector[begin : begin + _BLOCK], flags[begin : begin + _BLOCK]
            for i in range(part.size):
                part[i] = value if block[i] else part[i]


@_compiled
def blend(vector: Any, flags: Any, other: Any) -> None:
    """Write the elements of another vector to the selected elements of a vector."""
    for i in range(flags.size):
        vector[i] = other[i] if flags[i] else vector[i]
