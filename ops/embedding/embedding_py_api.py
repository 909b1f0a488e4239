from __future__ import annotations

import math
from typing import Any

import numpy as np

import pykernels

_embedding = pykernels.user_op_builder("embedding").Op("embedding_forward").Output("y").Function("indices", "weight")


def embedding(indices: Any, weight: Any, **options: Any) -> Any:
    """Rows of a table, ``weight[indices]``, as MXNet's ``Embedding``.

    The gradient of a row is the sum of the gradients of all its uses.

    Parameters
    ----------
    indices : tensor
        Of any shape: row numbers, starting at 0, in integers or in floating point; without a gradient.
    weight : tensor
        Floating point, of shape ``(rows, columns)``; it can be learned.
    **options
        On NumPy arrays, ``out`` as for NumPy's ufuncs.

    Returns
    -------
    tensor
        Of the shape of `indices` with `columns` appended, and the kind and dtype of `weight`.

    Raises
    ------
    KernelError
        An index is negative, not less than the number of rows, or not an integer.
    """
    return _embedding(indices, weight, **options)


def sample_inputs(elements: int, dtype: Any) -> dict[str, Any]:
    """Arguments for benchmarks: rows of up to 64 numbers out of up to 10,000."""
    width = min(64, math.isqrt(elements))
    count = elements // width
    rows = min(10_000, count)
    rng = np.random.default_rng(0)
    return {"indices": rng.integers(rows, size=count), "weight": rng.standard_normal((rows, width)).astype(dtype)}
