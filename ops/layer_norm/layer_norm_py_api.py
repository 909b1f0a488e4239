from __future__ import annotations

import math
from typing import Any

import numpy as np

import pykernels


def layer_norm(x: Any, gamma: Any, beta: Any, axis: int = -1, eps: float = 1e-5) -> Any:
    """Layer normalization: every row is shifted and scaled to mean 0 and variance 1, then by what is learned.

    ``gamma * (x - mean) / sqrt(variance + eps) + beta`` along the last axis (Ba et al., "Layer Normalization",
    arXiv:1607.06450).

    Parameters
    ----------
    x : tensor
        Floating point, with one axis or more.
    gamma, beta : tensor
        Of the length of the last axis of `x`, and its dtype; they can be learned.
    axis : int
        The axis that is normalized: the last one, which -1 says.
    eps : float
        Added to the variance, not negative.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `x`.
    """
    return (
        pykernels.user_op_builder("layer_norm")
        .Op("layer_norm_forward")
        .Input("x", [x])
        .Input("gamma", [gamma])
        .Input("beta", [beta])
        .Output("y")
        .Attr("axis", axis)
        .Attr("eps", eps)
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )


def sample_inputs(elements: int, dtype: Any) -> dict[str, Any]:
    """Arguments for benchmarks: rows of up to 1024 numbers."""
    width = min(1024, math.isqrt(elements))
    x = np.random.default_rng(0).standard_normal((elements // width, width))
    return {"x": x.astype(dtype), "gamma": np.ones(width, dtype), "beta": np.zeros(width, dtype)}
