"""Cumulative sums and products, other functions accumulated along an axis, and differences."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types as nb
from numba.core import errors
from numba.np.numpy_support import as_dtype
from numba.np.unsafe.ndarray import to_fixed_tuple

from pykernels.kernel.numba.copying import copy
from pykernels.kernel.numba.functions.along import around, checked_axis
from pykernels.kernel.numba.functions.joining import with_length
from pykernels.kernel.numba.functions.moving import positions
from pykernels.kernel.numba.implementing import (
    compiled,
    implements,
    implements_of_ufuncs,
    is_array,
    is_integer,
    require_known,
)


@functools.cache
def _accumulator(function: Any, dtype: np.dtype, in_place_of_nan: float | None) -> Any:
    """Return a function that accumulates along an axis of contiguous arrays, given as vectors."""
    convert = dtype.type

    @compiled
    def converted(x: Any) -> Any:
        return convert(x if in_place_of_nan is None or x == x else in_place_of_nan)

    @compiled
    def accumulate(source: Any, made: Any, n: Any, inner: Any) -> None:
        for begin in range(0, source.size, n * inner or 1):
            end = begin + n * inner
            if inner == 1:
                total = converted(source[begin])
                made[begin] = total
                for at in range(begin + 1, end):
                    total = convert(function(total, converted(source[at])))
                    made[at] = total
                continue
            for at in range(begin, begin + inner):
                made[at] = converted(source[at])
            for row in range(begin + inner, end, inner):
                for at in range(row, row + inner):
                    made[at] = convert(function(made[at - inner], converted(source[at])))

    return accumulate


def accumulating(
    function: Any, a: Any, axis: Any, dtype: np.dtype, out: Any = None, in_place_of_nan: float | None = None
) -> Callable[..., Any] | None:
    """Return an implementation of ``(a, axis, out)`` that accumulates a function of two numbers.

    Parameters
    ----------
    dtype : np.dtype
        The dtype of the result, in which the function is computed.
    in_place_of_nan : float or None
        What NaN count as; None for what the function makes of them.
    """
    if not is_array(a) or not (axis is None or (a.ndim > 0 and is_integer(axis))) or dtype.kind not in "biuf":
        return None
    is_given = isinstance(out, nb.Array)
    if (out is not None and not is_given) or (is_given and as_dtype(out.dtype) != dtype):
        raise errors.TypingError(f"an accumulation of {dtype} into another dtype")
    accumulate = _accumulator(function, dtype, in_place_of_nan)

    def accumulated(a: Any, axis: Any) -> Any:
        if axis is None:
            made, n, inner = np.empty(a.size, dtype), a.size, 1
        else:
            at = checked_axis(axis, a.ndim)
            made, n, inner = np.empty(a.shape, dtype), a.shape[at], around(a.shape, at)[1]
        accumulate(np.ascontiguousarray(a).reshape(a.size), made.reshape(made.size), n, inner)
        return made

    compute = compiled(accumulated)

    def accumulated_into(a: Any, axis: Any, out: Any) -> Any:
        made = compute(a, axis)
        if made.shape != out.shape:
            raise ValueError("the output has another shape")
        copy(out, made)
        return out

    return accumulated_into if is_given else accumulated


def _result_dtype(ufunc: np.ufunc, a: Any, dtype: Any) -> np.dtype:
    """Return the dtype that NumPy gives an accumulation."""
    try:
        result: np.dtype = ufunc.accumulate(np.ones(1, as_dtype(a.dtype)), dtype=dtype).dtype
    except (TypeError, ValueError) as error:
        raise errors.TypingError(str(error)) from error
    return result


def _define_cumulative(name: str, ufunc: np.ufunc, identity: float) -> None:
    def typed(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return accumulating(ufunc, a, axis, _result_dtype(ufunc, a, dtype), out) if is_array(a) else None

    def without_nan(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return accumulating(ufunc, a, axis, _result_dtype(ufunc, a, dtype), out, identity) if is_array(a) else None

    implements(getattr(np, name), method=name)(typed)
    implements(getattr(np, f"nan{name}"))(without_nan)


_define_cumulative("cumsum", np.add, 0.0)
_define_cumulative("cumprod", np.multiply, 1.0)


@implements_of_ufuncs("accumulate")
def _accumulate(ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    if (ufunc.nin, ufunc.nout) != (2, 1) or axis is None or not is_array(array):
        return None
    accumulate = accumulating(ufunc, array, axis, _result_dtype(ufunc, array, dtype), out)
    if accumulate is None:
        return None
    compute = compiled(accumulate)
    if out is None:
        return lambda array, axis: compute(array, axis)
    return lambda array, axis, out: compute(array, axis, out)


def _end_of(value: Any) -> Any:
    """Return a function that returns what `np.diff` joins to an end in a tuple, from a value and its shape."""
    if value is None:
        return compiled(lambda value, shape: ())
    if is_array(value) and value.ndim > 0:
        return compiled(lambda value, shape: (value,))
    if is_array(value):
        return compiled(lambda value, shape: (np.full(shape, value[()]),))
    is_number = isinstance(value, (bool, int, nb.Number, nb.Boolean))
    return compiled(lambda value, shape: (np.full(shape, value),)) if is_number else None


def _diff_of_joined(a: nb.Array, n: int, axis: Any, prepend: Any, append: Any) -> Any:
    """Return an implementation of `np.diff` that first joins arrays or numbers to the ends."""
    (at,) = positions(axis, a.ndim, "the axis of diff")
    one, before, after = (at,), _end_of(prepend), _end_of(append)
    if before is None or after is None:
        return None

    def diff(a: Any, prepend: Any, append: Any) -> Any:
        shape = with_length(a.shape, one, 1)
        return np.diff(np.concatenate((*before(prepend, shape), a, *after(append, shape)), at), n, at)

    return diff


@implements(np.diff)
def _diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    if not is_array(a) or a.ndim == 0 or not is_integer(axis):
        return None
    require_known(n, "the shape of the result")
    if n < 1:
        return None
    if prepend is not None or append is not None:
        return _diff_of_joined(a, n, axis, prepend, append)
    dtype, ndim = as_dtype(a.dtype), a.ndim
    convert, subtract = dtype.type, compiled((lambda x, y: x != y) if dtype.kind == "b" else (lambda x, y: x - y))

    @compiled
    def differences(a: Any, at: Any) -> Any:
        (outer, inner), lengths = around(a.shape, at), np.empty(ndim, np.intp)
        for i in range(ndim):
            lengths[i] = max(a.shape[i] - 1, 0) if i == at else a.shape[i]
        made, source = np.empty(to_fixed_tuple(lengths, ndim), dtype), np.ascontiguousarray(a).reshape(a.size)
        target, left = made.reshape(made.size), lengths[at] * inner
        for i in range(outer):
            row, first = target[i * left : (i + 1) * left], source[i * (left + inner) :]
            second = first[inner:]
            for k in range(left):
                row[k] = convert(subtract(second[k], first[k]))
        return made

    def diff(a: Any, axis: Any) -> Any:
        at = checked_axis(axis, ndim)
        made = differences(a, at)
        for _ in range(n - 1):
            made = differences(made, at)
        return made

    return diff
