"""Matrix products, inner and outer products of arrays of any rank, with NumPy's dtypes and shapes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.np.unsafe.ndarray import to_fixed_tuple

from pykernels.kernel.numba.functions.axes import diagonal_of
from pykernels.kernel.numba.functions.contraction import (
    Labels,
    contraction,
    conversion,
    finisher,
    fits,
    sampled,
    store,
)
from pykernels.kernel.numba.functions.moving import positions
from pykernels.kernel.numba.functions.views import NEW, arranged, broadcast
from pykernels.kernel.numba.implementing import (
    compiled,
    implements,
    implements_of_ufuncs,
    is_array,
    is_integer,
    require_known,
)

# Of a vector in a cross product. Newer versions of NumPy refuse vectors of two elements.
_FEWEST_ELEMENTS = 2 if np.lib.NumpyVersion(np.__version__) < "2.5.0" else 3


@implements(np.matmul)
def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """Multiply stacks of matrices, whose other axes are broadcast; a vector is a row or a column."""
    if not is_array(a) or not is_array(b):
        return None
    stacks = [tuple(f"stack{axis}" for axis in range(each.ndim - 2, 0, -1)) for each in (a, b)]
    rows, columns = ("row",) * (a.ndim > 1), ("column",) * (b.ndim > 1)
    labels = (*stacks[0], *rows, "sum"), (*stacks[1], "sum", *columns)
    return _product(np.matmul, a, b, labels, (*max(stacks, key=len), *rows, *columns), out)


@implements(operator.matmul)
def matmul_operator(a: Any, b: Any) -> Any:
    """Return what `matmul` returns."""
    return matmul(a, b)


@implements(np.dot, method="dot")
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Sum over the last axis of `a` and the last but one of `b`."""
    if not is_array(a) or not is_array(b):
        return None
    if a.ndim == 0 or b.ndim == 0:
        return _sum_over(np.dot, a, b, (), (), out)
    return _sum_over(np.dot, a, b, (a.ndim - 1,), (max(b.ndim - 2, 0),), out)


@implements(np.inner)
def inner(a: Any, b: Any) -> Any:
    """Sum over the last axes."""
    if not is_array(a) or not is_array(b):
        return None
    has_sum = a.ndim > 0 and b.ndim > 0
    return _sum_over(np.inner, a, b, (a.ndim - 1,) * has_sum, (b.ndim - 1,) * has_sum)


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum over the last axes of `a` and the first ones of `b`, or over those in `axes`."""
    if not is_array(a) or not is_array(b):
        return None
    require_known(axes, "the rank of a product")
    if sampled(np.tensordot, a, b, axes) is None:
        return None
    pairs = (range(a.ndim - axes, a.ndim), range(axes)) if isinstance(axes, int) else axes
    a_axes, b_axes = ((each,) if isinstance(each, int) else tuple(each) for each in pairs)
    return _sum_over(lambda a, b: np.tensordot(a, b, axes), a, b, a_axes, b_axes)


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Multiply each element of `a` with each of `b`."""
    if not is_array(a) or not is_array(b):
        return None
    labels = _labels("a", a.ndim), _labels("b", b.ndim)

    def as_matrix(made: Any, a: Any, b: Any) -> Any:
        return made.reshape((a.size, b.size))

    return _product(np.outer, a, b, labels, labels[0] + labels[1], out, as_matrix)


@implements_of_ufuncs("outer")
def outer_of(ufunc: np.ufunc, a: Any, b: Any) -> Any:
    """Apply a universal function to each element of `a` with each of `b`."""
    if (ufunc.nin, ufunc.nout, ufunc.signature) != (2, 1, None) or not is_array(a) or not is_array(b):
        return None
    order = (*range(a.ndim), *(NEW,) * b.ndim)
    return lambda a, b: ufunc(arranged(a, order), b)


@implements(np.cross, is_alone=True)
def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    """Multiply vectors of three elements, or of two and three."""
    if not is_array(a) or not is_array(b) or 0 in (a.ndim, b.ndim):
        return None
    result = sampled(np.multiply, a, b)
    if result is None or result.dtype.kind == "b":
        return None
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    (first,), (second,) = positions(axisa, a.ndim, "an axis of cross"), positions(axisb, b.ndim, "an axis of cross")
    (place,) = positions(axisc, result.ndim, "an axis of cross")
    orders = [(*(at for at in range(ndim) if at != axis), axis) for ndim, axis in ((a.ndim, first), (b.ndim, second))]
    a_order, b_order = orders
    order = list(range(result.ndim - 1))
    order.insert(place, result.ndim - 1)
    turned, kind, fewest = tuple(order), result.dtype.type, _FEWEST_ELEMENTS

    def compute(a: Any, b: Any) -> Any:
        x, y = arranged(a, a_order), arranged(b, b_order)
        m, n = x.shape[-1], y.shape[-1]
        if min(m, n) < fewest or max(m, n) != 3:
            # Older versions of NumPy give the products of vectors of two elements one axis less.
            raise ValueError("vectors of other lengths")
        shape = np.broadcast_shapes(x[..., :1].shape, y[..., :1].shape)[:-1]
        made = np.empty((*shape, 3), result.dtype)
        rows = made.reshape((made.size // 3, 3))
        left = np.ascontiguousarray(broadcast(x, (*shape, m))).reshape((rows.shape[0], m))
        right = np.ascontiguousarray(broadcast(y, (*shape, n))).reshape((rows.shape[0], n))
        for i in range(rows.shape[0]):
            x0, x1, y0, y1 = kind(left[i, 0]), kind(left[i, 1]), kind(right[i, 0]), kind(right[i, 1])
            rows[i, 2] = kind(x0 * y1) - kind(x1 * y0)
            if n == 2:
                x2 = kind(left[i, 2])
                rows[i, 0], rows[i, 1] = -kind(x2 * y1), x2 * y0
            elif m == 2:
                y2 = kind(right[i, 2])
                rows[i, 0], rows[i, 1] = x1 * y2, -kind(x0 * y2)
            else:
                x2, y2 = kind(left[i, 2]), kind(right[i, 2])
                rows[i, 0], rows[i, 1] = kind(x1 * y2) - kind(x2 * y1), kind(x2 * y0) - kind(x0 * y2)
        return arranged(made, turned)

    return compute


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Replace each element of `a` by its product with `b`."""
    if not is_array(a) or not is_array(b):
        return None
    n = max(a.ndim, b.ndim)
    labels = _labels("a", n)[n - a.ndim :], _labels("b", n)[n - b.ndim :]
    both = tuple(label for axis in range(n) for label in (f"a{axis}", f"b{axis}") if label in labels[0] + labels[1])

    def interleaved(made: Any, a: Any, b: Any) -> Any:
        lengths = np.ones(n, np.intp)
        for axis in range(a.ndim):
            lengths[n - a.ndim + axis] *= a.shape[axis]
        for axis in range(b.ndim):
            lengths[n - b.ndim + axis] *= b.shape[axis]
        return made.reshape(to_fixed_tuple(lengths, n))

    return _product(np.kron, a, b, labels, both, None, interleaved if n else None)


@implements(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    """Sum the products of all elements."""
    if not is_array(a) or not is_array(b):
        return None
    result = sampled(np.vdot, a, b)
    if result is None:
        return None
    multiply = contraction((), (("sum",), ("sum",)), result.dtype, frozenset({"sum"}))
    as_a, as_b = conversion(a, result.dtype, "C"), conversion(b, result.dtype, "C")
    return lambda a, b: multiply(as_a(a).reshape(-1), as_b(b).reshape(-1))[()]


@implements(np.trace, method="trace")
def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None) -> Any:
    """Sum over a diagonal of two axes."""
    if not is_array(a) or not is_integer(offset) or out is not None:
        return None
    take = diagonal_of(a, (axis1, axis2))
    result = sampled(np.trace, a, 0, axis1, axis2, dtype)
    if result is None:
        return None
    kept = _labels("a", result.ndim)
    convert = conversion(a.copy(layout="A", ndim=a.ndim - 1), result.dtype)
    add, finish = contraction(kept, ((*kept, "diagonal"),), result.dtype), finisher(result)
    compute = compiled(lambda a, offset: finish(add(convert(take(a, offset)))))

    if isinstance(offset, int):
        return lambda a: compute(a, offset)
    return lambda a, offset: compute(a, offset)


def _labels(name: str, ndim: int) -> Labels:
    return tuple(f"{name}{axis}" for axis in range(ndim))


def _sum_over(
    function: Callable[..., Any], a: Any, b: Any, a_axes: tuple[int, ...], b_axes: tuple[int, ...], out: Any = None
) -> Any:
    """Return an implementation that sums over pairs of axes; the other axes of `a` come before those of `b`."""
    names = [list(_labels("a", a.ndim)), list(_labels("b", b.ndim))]
    for at, (a_axis, b_axis) in enumerate(zip(a_axes, b_axes)):
        names[0][a_axis] = names[1][b_axis] = f"sum{at}"
    kept = tuple(name for each in names for name in each if not name.startswith("sum"))
    return _product(function, a, b, (tuple(names[0]), tuple(names[1])), kept, out)


def _product(
    function: Callable[..., Any],
    a: Any,
    b: Any,
    labels: tuple[Labels, Labels],
    kept: Labels,
    out: Any,
    then: Any = None,
) -> Any:
    """Return an implementation of NumPy's `function` that sums over the axes that are not kept; None if it refuses.

    Parameters
    ----------
    labels : tuple
        The labels of the axes of `a` and `b`.
    then : callable, optional
        Returns the result of another shape for the product, `a` and `b`.
    """
    result = sampled(function, a, b)
    if result is None:
        return None
    exact = frozenset(label for label in labels[0] if label not in kept)
    multiply = contraction(kept, labels, result.dtype, exact)
    as_a, as_b = conversion(a, result.dtype), conversion(b, result.dtype)
    finish, reshaped = finisher(result), compiled(then or (lambda made, a, b: made))
    compute = compiled(lambda a, b: finish(reshaped(multiply(as_a(a), as_b(b)), a, b)))
    if out is None:
        return lambda a, b: compute(a, b)
    if not fits(out, result):
        return None

    def write(a: Any, b: Any, out: Any) -> Any:
        return store(out, compute(a, b))

    return write
