"""Systems of linear equations, solved by LAPACK, as NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb

from pykernels.kernel.numba.copying import copy
from pykernels.kernel.numba.functions.contraction import conversion, sampled
from pykernels.kernel.numba.functions.views import NEW, arranged, broadcast
from pykernels.kernel.numba.implementing import compiled, implements, is_array
from pykernels.kernel.numba.runtime_calls import call_runtime

_DTYPE = np.dtype(np.float64)


@compiled
def _copied(matrices: Any, shape: Any) -> Any:
    made = np.empty(shape, _DTYPE)
    copy(made, broadcast(matrices, shape))
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
    # NumPy computes in float64.
    as_a, as_b = conversion(a, _DTYPE), conversion(b, _DTYPE)
    finish = conversion(nb.Array(nb.float64, result.ndim, "C"), result.dtype)
    # LAPACK's matrices are transposed.
    turned = (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2)
    as_matrices = (*range(b.ndim), NEW) if has_vectors else tuple(range(b.ndim))
    kept = tuple(range(result.ndim))

    def compute(a: Any, b: Any) -> Any:
        left, right = arranged(as_a(a), turned), arranged(as_b(b), as_matrices)
        n, sides = right.shape[-2], right.shape[-1]
        if left.shape[-2] != n or left.shape[-1] != n:
            raise ValueError("the lengths of axes differ")
        stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        factors, made = _copied(left, (*stack, n, n)), _copied(right, (*stack, n, sides))
        count = factors.size // max(n * n, 1)
        pivots, is_singular = np.empty(n, np.int64), np.zeros(1, np.bool_)
        call_runtime("pk_solve", factors, made, pivots, is_singular, count, n, sides)
        if is_singular[0]:
            raise ValueError("a singular matrix")
        return finish(arranged(made, kept))

    return compute
