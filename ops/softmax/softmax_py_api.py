from __future__ import annotations

from typing import Any

import pykernels


def softmax(x: Any, axis: int = -1) -> Any:
    """Softmax, ``exp(x) / sum(exp(x))`` along one axis.

    Parameters
    ----------
    x : tensor
        Floating point, with one axis or more.
    axis : int
        The axis along which the result sums to 1; a negative one counts from the last.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `x`.
    """
    return (
        pykernels.user_op_builder("softmax")
        .Op("softmax_forward")
        .Input("x", [x])
        .Output("y")
        .Attr("axis", axis)
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
