"""``np.linalg.norm``: norms of vectors of any order, and of matrices without singular values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types as nb
from numba.core import errors
from numba.np.numpy_support import from_dtype

from pykernels.kernel.expression.operations import neutral_of
from pykernels.kernel.numba.functions.folded_axes import dtype_of
from pykernels.kernel.numba.functions.reducing import Call, fold_by
from pykernels.kernel.numba.implementing import compiled, implements, is_array, is_integer, require_known
from pykernels.kernel.numba.parts.single_calls import along_known_axes


@implements(np.linalg.norm, is_alone=True)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    if not is_array(x) or x.ndim == 0:
        return None
    require_known(axis, "the axis")
    if not isinstance(ord, nb.Float):  # a literal of Python's, which numba does not know while compiling
        require_known(ord, "the order of the norm")
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not all(map(is_integer, axes)):
        raise errors.TypingError("axes of a norm are whole numbers")
    options = {"ord": ord, "axis": axis, "keepdims": keepdims}
    if fused := along_known_axes(np.linalg.norm, {"x": x, **options}, None, True):
        return fused
    dtype = dtype_of(x) if isinstance(x.dtype, nb.Float) else np.dtype(float)
    if (axis is None and ord is None) or (ord == "fro" and len(axes) == 2):
        return _of_vectors(x, dtype, 2, axes, keepdims)
    if len(axes) == 1:
        return _of_vectors(x, dtype, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2 and ord is None:
        return _of_vectors(x, dtype, 2, axes, keepdims)
    if len(axes) == 2 and (isinstance(ord, nb.Float) or ord in (1, -1)):
        return _of_matrices(x, dtype, axes, keepdims)
    raise errors.TypingError(f"a norm of order {ord} for {len(axes)} axes is not compiled")


def _folded(
    x: nb.Array, dtype: np.dtype, axes: tuple[int, ...], keepdims: Any, ufunc: np.ufunc, term: Any, finish: Any = None
) -> Callable[..., Any]:
    """Return an implementation with the parameter `x`."""
    fold, start = fold_by(ufunc, dtype, term, finish), dtype.type(neutral_of(ufunc.__name__, dtype))

    @compiled
    def compute(x: Any, mask: Any, initial: Any, made: Any) -> None:
        fold(x, x, made, made, start, made)

    return Call(x, axes, keepdims).implementation(compute, dtype, "x")


def _of_vectors(x: nb.Array, dtype: np.dtype, order: Any, axes: tuple[int, ...], keepdims: Any) -> Callable[..., Any]:
    kind = dtype.type

    def size_of(x: Any, other: Any, center: Any) -> Any:
        return abs(kind(x))

    def square_of(x: Any, other: Any, center: Any) -> Any:
        return kind(x) * kind(x)

    def root_of(number: Any, n: Any, extra: Any) -> Any:
        return kind(np.sqrt(number))

    if order == 2:
        return _folded(x, dtype, axes, keepdims, np.add, square_of, root_of)
    if order == 1:
        return _folded(x, dtype, axes, keepdims, np.add, size_of)
    if order == 0:
        return _folded(x, dtype, axes, keepdims, np.add, lambda x, other, center: x != 0)

    def power_of(x: Any, other: Any, order: Any) -> Any:
        return abs(kind(x)) ** order if order != 0 else kind(x != 0)

    def from_power(number: Any, n: Any, order: Any) -> Any:
        return number ** (kind(1) / order) if order != 0 else number

    total = fold_by(np.add, dtype, power_of, from_power)
    greatest = fold_by(np.maximum, dtype, size_of)
    least = fold_by(np.minimum, dtype, size_of)
    zero, infinity = kind(0), kind(np.inf)  # to start from

    @compiled
    def compute(x: Any, mask: Any, order: Any, made: Any) -> None:
        if order == np.inf:
            greatest(x, x, made, made, zero, made)
        elif order == -np.inf:
            least(x, x, made, made, infinity, made)
        else:
            orders = np.full(made.shape, kind(order))
            total(x, x, orders, orders, zero, made)

    run = compiled(Call(x, axes, keepdims, initial=order).implementation(compute, dtype, "x"))
    return lambda x, ord: run(x, ord)


def _of_matrices(x: nb.Array, dtype: np.dtype, axes: tuple[int, ...], keepdims: Any) -> Callable[..., Any]:
    kind = dtype.type

    def size_of(x: Any, other: Any, center: Any) -> Any:
        return abs(kind(x))

    def folded(array: nb.Array, axes: tuple[int, ...], keepdims: Any, ufunc: np.ufunc, term: Any = None) -> Any:
        return compiled(_folded(array, dtype, axes, keepdims, ufunc, term))

    sums_of_columns, sums_of_rows = (folded(x, (axis,), True, np.add, size_of) for axis in axes)
    sums = nb.Array(from_dtype(dtype), x.ndim, "C")
    greatest = folded(sums, axes, keepdims, np.maximum)
    least = folded(sums, axes, keepdims, np.minimum)

    def norm(x: Any, ord: Any) -> Any:
        if abs(ord) == 1:
            sums = sums_of_columns(x)
        elif abs(ord) == np.inf:
            sums = sums_of_rows(x)
        else:
            raise ValueError("a norm of this order needs singular values")
        return greatest(sums) if ord > 0 else least(sums)

    return norm
