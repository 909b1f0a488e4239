"""Medians, quantiles and percentiles along any axes, with those that ignore NaN."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types as nb
from numba.core import errors
from numba.np.numpy_support import as_dtype
from numba.np.unsafe.ndarray import to_fixed_tuple

from pykernels.kernel.numba.implementing import compiled, implements, is_array, require_known
from pykernels.kernel.numba.runtime_calls import call_runtime

# What lies at an exact rank, given the whole ranks around it: the ranks of two elements, and the weight of the second.
_METHODS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "linear": lambda exact, low, high: (low, high, exact - low),
    "lower": lambda exact, low, high: (low, low, 0.0),
    "higher": lambda exact, low, high: (high, high, 0.0) if exact > low else (low, low, 0.0),
    "nearest": lambda exact, low, high: (
        (high, high, 0.0) if (exact - low >= 0.5 if low % 2 else exact - low > 0.5) else (low, low, 0.0)
    ),
    "midpoint": lambda exact, low, high: (low, high, 0.5 if exact > low else 0.0),
}
_OF_ONE = ("lower", "higher", "nearest")
# Lines of up to so many elements are sorted side by side, so many at once.
_SHORT, _LINES = 8, 512


@functools.cache
def _finder(dtype: np.dtype, result: np.dtype, method: str, scale: int, ignores_nan: bool) -> Any:
    """Return a function that computes quantiles of lines of elements.

    Parameters
    ----------
    result : np.dtype
        The dtype of the quantiles; if it is floating-point, NumPy computes in it.
    method : str
        NumPy's name of the method, or ``"median"``.
    scale : int
        What the given numbers are divided by.
    """
    function, convert, may_be_empty = f"pk_partition_{dtype}", result.type, ignores_nan or method == "median"
    number = result.type if result.kind == "f" else np.float64

    if method == "median":
        place = compiled(lambda q, n: ((n - 1) // 2, n // 2, 0.5))
        between = compiled(lambda a, b, weight: convert((number(a) + number(b)) / number(2)))
    else:
        around = compiled(_METHODS[method])

        @compiled
        def place(q: Any, n: Any) -> Any:
            part = number(q) / number(scale)
            if not (part >= 0 and part <= 1):
                raise ValueError("Quantiles must be in the range [0, 1]")
            exact = number(number(n - 1) * part)
            low = min(int(exact), n - 1)
            return around(exact, low, min(low + 1, n - 1))

        # The difference of small integers would wrap.
        subtract = compiled((lambda b, a: b - a) if dtype.kind == "f" else (lambda b, a: float(b) - float(a)))

        @compiled
        def between_two(a: Any, b: Any, weight: Any) -> Any:
            step, part = number(subtract(b, a)), number(weight)
            return convert(b - step * (1 - part) if part >= 0.5 else a + step * part)

        between = compiled(lambda a, b, weight: convert(a)) if method in _OF_ONE else between_two

    @compiled
    def find_in_short(source: Any, n: Any, inner: Any, q: Any, lines: Any, made: Any) -> None:
        begins, is_number, rows = np.empty(_LINES, np.intp), np.empty(_LINES, np.bool_), np.empty((n, _LINES), dtype)
        for first in range(0, lines, _LINES):
            width = min(lines - first, _LINES)
            for j in range(width):
                i = first + j
                begins[j], is_number[j] = i // inner * n * inner + i % inner, True
            for k in range(n):
                for j in range(width):
                    rows[k, j] = x = source[begins[j] + k * inner]
                    is_number[j] &= x == x
            for end in range(n - 1, 0, -1):
                for k in range(end):
                    for j in range(width):
                        a, b = rows[k, j], rows[k + 1, j]
                        rows[k, j], rows[k + 1, j] = (b, a) if b < a else (a, b)
            for k in range(q.size):
                low, high, weight = place(q[k], n)
                for j in range(width):
                    number = between(rows[low, j], rows[high, j], weight)
                    made[k * lines + first + j] = number if is_number[j] else convert(np.nan)

    @compiled
    def find(source: Any, n: Any, inner: Any, q: Any, lines: Any, made: Any) -> None:
        if 0 < n <= _SHORT and not ignores_nan:
            find_in_short(source, n, inner, q, lines, made)
            return
        line, ranks = np.empty(n, dtype), np.empty(2 * q.size, np.intp)
        for i in range(lines):
            begin, count = i // inner * n * inner + i % inner, 0
            for k in range(n):
                x = source[begin + k * inner]
                line[count] = x
                count += x == x
            if count == 0 if ignores_nan else count < n or n == 0:
                if n == 0 and not may_be_empty:
                    raise ValueError("a quantile of an empty array")
                for k in range(q.size):
                    made[k * lines + i] = convert(np.nan)
                continue
            for k in range(q.size):
                ranks[2 * k], ranks[2 * k + 1], _ = place(q[k], count)
            call_runtime("pk_sort_int64", ranks, 1, ranks.size, 1)
            call_runtime(function, line, ranks, ranks.size, 1, count, 1)
            for k in range(q.size):
                low, high, weight = place(q[k], count)
                made[k * lines + i] = between(line[low], line[high], weight)

    return find


def _numbers(q: Any) -> Any:
    """Return a function that returns the given quantiles as a vector of float64; None if they are something else."""
    if isinstance(q, (int, float, nb.Integer, nb.Float)):
        return compiled(lambda q: np.full(1, q, np.float64))
    if isinstance(q, tuple):
        values = np.array(q, np.float64)
        return compiled(lambda q: values)
    if is_array(q) and q.ndim <= 1:
        return compiled(lambda q: np.ascontiguousarray(q).reshape(q.size).astype(np.float64))
    if not isinstance(q, (nb.UniTuple, nb.List)) or not isinstance(q.dtype, (nb.Integer, nb.Float)):
        return None

    @compiled
    def numbers(q: Any) -> Any:
        made = np.empty(len(q), np.float64)
        for i in range(made.size):
            made[i] = q[i]
        return made

    return numbers


def _sample(q: Any) -> Any:
    """Return quantiles of the same type."""
    if isinstance(q, nb.Array):
        return np.ones((1,) * q.ndim, as_dtype(q.dtype))
    if isinstance(q, (nb.UniTuple, nb.List)):
        return [_sample(q.dtype)]
    if isinstance(q, nb.Type):
        return 1 if isinstance(q, nb.Integer) else 0.5 if q == nb.float64 else as_dtype(q).type(0.5)
    return q


def _computing(name: str, a: Any, q: Any, axis: Any, keepdims: Any, method: str, scale: int = 1) -> Any:
    """Return an implementation of ``(a, q)``; None to leave the call to another one."""
    numbers = _numbers(q)
    if not is_array(a) or a.ndim == 0 or numbers is None or method not in (*_METHODS, "median"):
        return None
    require_known(axis, "the shape of the result")
    require_known(keepdims, "the shape of the result")
    dtype, ndim = as_dtype(a.dtype), a.ndim
    given = () if method == "median" else (_sample(q),)
    options = {} if method == "median" else {"method": method}
    try:
        result = np.asarray(getattr(np, name)(np.ones((1,) * ndim, dtype), *given, axis=axis, **options)).dtype
    except (TypeError, ValueError) as error:
        raise errors.TypingError(str(error)) from error
    is_folded = np.zeros(ndim, bool)
    is_folded[slice(None) if axis is None else np.atleast_1d(axis)] = True
    folded = np.flatnonzero(is_folded)
    first, count, places = int(folded[0]), len(folded), tuple(range(ndim))
    if folded[-1] - first >= count:  # other axes lie between them
        places, first = tuple(np.argsort(is_folded, kind="stable").tolist()), ndim - count
    turn = compiled((lambda a: a) if places == tuple(range(ndim)) else (lambda a: np.transpose(a, places)))
    find = _finder(dtype, result, method, scale, name.startswith("nan"))
    q_ndim = np.ndim(_sample(q))
    keeps, left = bool(keepdims), q_ndim + ndim - (0 if keepdims else count)

    def compute(a: Any, q: Any) -> Any:
        wanted, lengths, at = numbers(q), np.full(max(left, 1), 1, np.intp), q_ndim
        if q_ndim == 1:
            lengths[0] = wanted.size
        for i in range(ndim):
            if keeps or not is_folded[i]:
                lengths[at] = 1 if is_folded[i] else a.shape[i]
                at += 1
        source, outer, n, inner = np.ascontiguousarray(turn(a)), 1, 1, 1
        for i in range(ndim):
            outer *= source.shape[i] if i < first else 1
            n *= source.shape[i] if first <= i < first + count else 1
            inner *= source.shape[i] if i >= first + count else 1
        made = np.empty(wanted.size * outer * inner, result)
        find(source.reshape(source.size), n, inner, wanted, outer * inner, made)
        return shaped(made, lengths)

    @compiled
    def array_of(made: Any, lengths: Any) -> Any:
        return made.reshape(to_fixed_tuple(lengths, left))

    shaped = array_of if left > 0 else compiled(lambda made, lengths: made[0])
    return compute


def _define_median(name: str) -> None:
    @implements(getattr(np, name))
    def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False) -> Any:
        compute = _computing(name, a, 0.5, axis, keepdims, "median") if out is None else None
        if compute is None:
            return None
        of_half = compiled(compute)
        return lambda a: of_half(a, 0.5)


def _define_quantile(name: str, scale: int) -> None:
    @implements(getattr(np, name))
    def quantile(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: Any = False,
        method: Any = "linear",
        keepdims: Any = False,
        weights: Any = None,
        interpolation: Any = None,
    ) -> Any:
        if (out, weights, interpolation) != (None, None, None):
            return None
        return _computing(name, a, q, axis, keepdims, method, scale)


for _prefix in ("", "nan"):
    _define_median(f"{_prefix}median")
    _define_quantile(f"{_prefix}quantile", 1)
    _define_quantile(f"{_prefix}percentile", 100)
