"""Solutions, inverses, determinants and Cholesky factors of matrices: LAPACK factors them, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb

from pykernels.kernel.numba.copying import copy
from pykernels.kernel.numba.functions.contraction import conversion, sampled
from pykernels.kernel.numba.functions.views import NEW, arranged, broadcast
from pykernels.kernel.numba.implementing import compiled, implements, is_array, require_known
from pykernels.kernel.numba.runtime_calls import call_runtime

# NumPy computes in float64.
_DTYPE = np.dtype(np.float64)
# A tuple with names since NumPy 2.
_Logarithms: Any = type(np.linalg.slogdet(np.ones((1, 1))))
_as_logarithms = compiled(
    (lambda sign, logarithm: (sign, logarithm)) if _Logarithms is tuple else lambda *each: _Logarithms(*each)
)


def _from_result(result: np.ndarray) -> Any:
    """Return a function that converts contiguous arrays of float64 to the sample's dtype."""
    return conversion(nb.Array(nb.float64, result.ndim, "C"), result.dtype)


def _turned(a: nb.Array) -> tuple[int, ...]:
    """Return the order of axes with which rows and columns change places; LAPACK's columns are contiguous."""
    return (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2)


@compiled
def _copied(matrices: Any, shape: Any) -> Any:
    made = np.empty(shape, _DTYPE)
    copy(made, broadcast(matrices, shape))
    return made


@compiled
def _check_square(matrices: Any) -> None:
    if matrices.shape[-2] != matrices.shape[-1]:
        raise ValueError("the lengths of axes differ")


@compiled
def _solutions(left: Any, right: Any) -> Any:
    """Return the solutions for a stack of right-hand sides; the matrices are transposed."""
    n, sides = right.shape[-2], right.shape[-1]
    _check_square(left)
    if left.shape[-1] != n:
        raise ValueError("the lengths of axes differ")
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    factors, made = _copied(left, (*stack, n, n)), _copied(right, (*stack, n, sides))
    count = factors.size // max(n * n, 1)
    pivots, is_singular = np.empty(n, np.int64), np.zeros(1, np.bool_)
    call_runtime("pk_solve", factors, made, pivots, is_singular, count, n, sides)
    if is_singular[0]:
        raise ValueError("a singular matrix")
    return made


@implements(np.linalg.solve, is_alone=True)
def solve(a: Any, b: Any) -> Any:
    """Solve stacks of systems, which are broadcast; whether `b` has vectors depends on the version of NumPy."""
    if not is_array(a) or not is_array(b):
        return None
    result = sampled(np.linalg.solve, a, b)
    if result is None:
        return None
    has_vectors = result.ndim < max(a.ndim, b.ndim)
    as_a, as_b, finish = conversion(a, _DTYPE), conversion(b, _DTYPE), _from_result(result)
    turned = _turned(a)
    as_matrices = (*range(b.ndim), NEW) if has_vectors else tuple(range(b.ndim))
    kept = tuple(range(result.ndim))

    def compute(a: Any, b: Any) -> Any:
        return finish(arranged(_solutions(arranged(as_a(a), turned), arranged(as_b(b), as_matrices)), kept))

    return compute


@implements(np.linalg.inv, is_alone=True)
def inv(a: Any) -> Any:
    """Solve for the unit vectors."""
    result = sampled(np.linalg.inv, a) if is_array(a) else None
    if result is None:
        return None
    turned, as_a, finish = _turned(a), conversion(a, _DTYPE), _from_result(result)

    def compute(a: Any) -> Any:
        return finish(_solutions(arranged(as_a(a), turned), np.eye(a.shape[-1])))

    return compute


def _determinants(a: Any) -> Any:
    """Return functions that compute signs and logarithms, and that convert these to NumPy's dtype; None if it refuses.

    The arrays begin with an axis of length 1, so that they have one.
    """
    result = sampled(np.linalg.det, a) if is_array(a) else None
    if result is None:
        return None
    turned, as_a, convert = _turned(a), conversion(a, _DTYPE), _from_result(result[None])

    @compiled
    def compute(a: Any) -> Any:
        _check_square(a)
        factors, n, shape = _copied(arranged(as_a(a), turned), a.shape), a.shape[-1], (1, *a.shape[:-2])
        pivots, signs, logarithms = np.empty(n, np.int64), np.empty(shape, _DTYPE), np.empty(shape, _DTYPE)
        call_runtime("pk_determinants", factors, pivots, signs, logarithms, signs.size, n)
        return signs, logarithms

    return compute, compiled(lambda made: convert(made)[0])


@implements(np.linalg.det, is_alone=True)
def det(a: Any) -> Any:
    """Multiply signs by exponentials of logarithms, as NumPy does."""
    if not (functions := _determinants(a)):
        return None
    determinants, finish = functions

    def compute(a: Any) -> Any:
        signs, logarithms = determinants(a)
        return finish(signs * np.exp(logarithms))

    return compute


@implements(np.linalg.slogdet, is_alone=True)
def slogdet(a: Any) -> Any:
    """Return two arrays or numbers, with names as in this version of NumPy."""
    if not (functions := _determinants(a)):
        return None
    determinants, finish = functions

    def compute(a: Any) -> Any:
        signs, logarithms = determinants(a)
        return _as_logarithms(finish(signs), finish(logarithms))

    return compute


@implements(np.linalg.cholesky, is_alone=True)
def cholesky(a: Any, upper: Any = False) -> Any:
    """Factor stacks of symmetric matrices; of an upper factor, the upper triangle is read, and the result turned."""
    require_known(upper, "upper")
    options = {"upper": True} if upper else {}  # which NumPy has since 2.0
    result = sampled(np.linalg.cholesky, a, **options) if is_array(a) else None
    if result is None:
        return None
    as_a, finish = conversion(a, _DTYPE), _from_result(result)
    order = _turned(a) if upper else tuple(range(a.ndim))

    def compute(a: Any) -> Any:
        _check_square(a)
        made, n = _copied(arranged(as_a(a), order), a.shape), a.shape[-1]
        is_indefinite = np.zeros(1, np.bool_)
        call_runtime("pk_cholesky", made, is_indefinite, made.size // max(n * n, 1), n)
        if is_indefinite[0]:
            raise ValueError("a matrix that is not positive definite")
        return arranged(finish(made), order)

    return compute
