from __future__ import annotations

import math
from typing import Any

import numpy as np

import pykernels


def embedding(indices: Any, weight: Any) -> Any:
    """Rows of a table, ``weight[indices]``, as MXNet's ``Embedding``.

    The gradient of a row is the sum of the gradients of all places where it is used.

    Parameters
    ----------
    indices : tensor
        Of any shape: the numbers of rows, from 0 on, in integers or in floating point; without a gradient.
    weight : tensor
        Floating point, of shape ``(rows, columns)``; it can be learned.

    Returns
    -------
    tensor
        Of the shape of `indices` with `columns` appended, and the kind and dtype of `weight`.

    Raises
    ------
    KernelError
        An index is negative, or not less than the number of rows, or no whole number.
    """
    return (
        pykernels.user_op_builder("embedding")
        .Op("embedding_forward")
        .Input("indices", [indices])
        .Input("weight", [weight])
        .Output("y")
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )


def sample_inputs(elements: int, dtype: Any) -> dict[str, Any]:
    """Arguments for benchmarks: rows of up to 64 numbers out of up to 10,000."""
    width = min(64, math.isqrt(elements))
    count = elements // width
    rows = min(10_000, count)
    rng = np.random.default_rng(0)
    return {"indices": rng.integers(rows, size=count), "weight": rng.standard_normal((rows, width)).astype(dtype)}
