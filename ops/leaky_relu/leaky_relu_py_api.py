from __future__ import annotations

from typing import Any

import pykernels


def leaky_relu(x: Any, alpha: float = 0.01) -> Any:
    """Leaky rectified linear unit: `x` where it is positive, ``alpha * x`` elsewhere.

    Parameters
    ----------
    x : tensor
        Floating point, of any shape.
    alpha : float
        Slope for numbers that are not positive, and the gradient there.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `x`.
    """
    return (
        pykernels.user_op_builder("leaky_relu")
        .Op("leaky_relu_forward")
        .Input("x", [x])
        .Output("y")
        .Attr("alpha", alpha)
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
