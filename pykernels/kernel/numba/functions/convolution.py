"""Convolution and correlation of vectors, and polynomials, with NumPy's dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb
from numba.extending import overload
from numba.np.numpy_support import as_dtype, from_dtype

from pykernels.kernel.numba.implementing import compiled, implements, is_array
from pykernels.kernel.numba.target import kernel_target

# The number of elements that are used again while they are in the first-level cache.
_BLOCK = 2048


def _adder(count: int) -> Any:
    """Return a function that adds the products of so many elements of a vector with another to a part of the result.

    It takes the part and its first place in the full convolution, the vectors, and the first of those elements.
    """
    # A part of its own for each factor: of an index `k + 1`, numba does not know that it counts from the first element.
    factors = (f"f{at}, a{at} = v[j + {at}], a[low - j - {at} : low - j - {at} + target.size]" for at in range(count))
    total = " + ".join(["target[k]", *(f"a{at}[k] * f{at}" for at in range(count))])
    lines = ("def add(target, low, a, v, j):", *factors, f"for k in range(target.size): target[k] = {total}")
    namespace: dict[str, Any] = {}
    exec("\n    ".join(lines), namespace)
    return compiled(namespace["add"])


_add_four, _add_two, _add_one = map(_adder, (4, 2, 1))


@compiled
def _convolved(a: Any, v: Any, begin: Any, end: Any, dtype: Any) -> Any:
    """Return the elements from `begin` to `end` of the full convolution."""
    made = np.zeros(end - begin, dtype)
    for first in range(begin, end, _BLOCK):
        last, j = min(first + _BLOCK, end), 0
        while j < v.size:
            count = 4 if v.size - j >= 4 else 2 if v.size - j >= 2 else 1
            # Between these, all of so many products exist.
            low, high = max(first, j + count - 1), min(last, j + a.size)
            if low >= high:
                low = high = last
            middle = made[low - begin : high - begin]
            if count == 4:
                _add_four(middle, low, a, v, j)
            elif count == 2:
                _add_two(middle, low, a, v, j)
            else:
                _add_one(middle, low, a, v, j)
            for each in range(j, j + count if low > first or high < last else j):
                before, after = max(first, each), min(last, each + a.size)
                _add_one(made[before - begin : min(low, after) - begin], before, a, v, each)
                _add_one(made[max(high, before) - begin : after - begin], max(high, before), a, v, each)
            j += count
    return made


@compiled
def _convolve(a: Any, v: Any, mode: Any, dtype: Any) -> Any:
    if a.size == 0 or v.size == 0:
        raise ValueError("a convolution of an empty array")
    n, fewer = max(a.size, v.size), min(a.size, v.size)
    if mode == "full":
        begin, end = 0, n + fewer - 1
    elif mode == "same":
        begin, end = (fewer - 1) // 2, (fewer - 1) // 2 + n
    elif mode == "valid":
        begin, end = fewer - 1, n
    else:
        raise ValueError("mode must be 'full', 'same' or 'valid'")
    if a.size < v.size:
        return _convolved(v, a, begin, end, dtype)
    return _convolved(a, v, begin, end, dtype)


def _common_dtype(a: Any, v: Any) -> Any:
    """Return the dtype of a convolution; None to leave it to numba."""
    is_array = all(isinstance(x, nb.Array) and x.ndim == 1 for x in (a, v))
    if not is_array or not all(isinstance(x.dtype, (nb.Integer, nb.Float)) for x in (a, v)):
        return None
    return np.promote_types(as_dtype(a.dtype), as_dtype(v.dtype))


def _typed_convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    dtype = _common_dtype(a, v)
    if dtype is None:
        return None

    def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
        return _convolve(np.ascontiguousarray(a), np.ascontiguousarray(v), mode, dtype)

    return convolve


def _typed_correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    dtype = _common_dtype(a, v)
    if dtype is None:
        return None

    def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
        if a.size < v.size:
            turned = _convolve(np.ascontiguousarray(v), np.ascontiguousarray(a[::-1]), mode, dtype)
            return np.ascontiguousarray(turned[::-1])
        return _convolve(np.ascontiguousarray(a), np.ascontiguousarray(v[::-1]), mode, dtype)

    return correlate


overload(np.convolve, target=kernel_target.name)(_typed_convolve)
overload(np.correlate, target=kernel_target.name)(_typed_correlate)


@implements(np.polyval)
def _polyval(p: Any, x: Any) -> Any:
    if isinstance(p, tuple) and all(isinstance(each, (int, float)) for each in p):
        coefficients = np.array(p)
        return lambda p, x: np.polyval(coefficients, x)
    if isinstance(p, nb.BaseTuple) and any(isinstance(each, nb.Float) for each in p):
        numbers = "".join(f"float(p[{at}]), " for at in range(len(p)))
        return eval(f"lambda p, x: np.polyval(np.array(({numbers})), x)", {"np": np})
    if isinstance(p, (nb.List, nb.UniTuple)):
        return lambda p, x: np.polyval(np.array(p), x)
    if not is_array(p) or p.ndim != 1 or not is_array(x) or x.ndim == 0:
        return None
    own, factor = as_dtype(x.dtype), as_dtype(p.dtype)
    are_integers = own.kind in "iu" and factor.kind in "iu"
    if own.kind not in "iuf" or factor.kind not in "iuf" or (are_integers and own != factor):
        return None
    # NumPy multiplies the array by one number after the other.
    dtype = np.result_type(np.empty(1, own), factor.type(1))
    number = from_dtype(dtype)

    def polyval(p: Any, x: Any) -> Any:
        given = np.ascontiguousarray(x).reshape(x.size)
        made = np.zeros(x.size, dtype)
        for begin in range(0, x.size, _BLOCK):
            values, results = given[begin : begin + _BLOCK], made[begin : begin + _BLOCK]
            for k in range(p.size):
                for i in range(values.size):
                    results[i] = number(results[i] * number(values[i])) + number(p[k])
        return made.reshape(x.shape)

    return polyval
