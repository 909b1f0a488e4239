from __future__ import annotations

from typing import Any

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
