from __future__ import annotations

import math
from typing import Any

import numpy as np

import pykernels

TAKES_NAN = True

_layer_norm = (
    pykernels.user_op_builder("layer_norm").Op("layer_norm_forward").Output("y").Function("x", "gamma", "beta")
)


def layer_norm(x: Any, gamma: Any, beta: Any, axis: int = -1, eps: float = 1e-5, **options: Any) -> Any:
    """Layer normalization: shift and scale every row to mean 0 and variance 1, then by `gamma` and `beta`.

    ``gamma * (x - mean) / sqrt(variance + eps) + beta`` along the last axis (Ba et al., "Layer Normalization",
    arXiv:1607.06450).

    Parameters
    ----------
    x : tensor
        Floating point, with one axis or more.
    gamma, beta : tensor
        Of the length of the last axis of `x`, and its dtype; they can be learned.
    axis : int
        The axis to normalize: the last one, or -1, which means the same.
    eps : float
        Added to the variance, not negative.
    **options
        On NumPy arrays, ``out`` as for NumPy's ufuncs.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `x`.
    """
    return _layer_norm(x, gamma, beta, axis=axis, eps=eps, **options)


def sample_inputs(elements: int, dtype: Any) -> dict[str, Any]:
    """Arguments for benchmarks: rows of up to 1024 numbers."""
    width = min(1024, math.isqrt(elements))
    x = np.random.default_rng(0).standard_normal((elements // width, width))
    return {"x": x.astype(dtype), "gamma": np.ones(width, dtype), "beta": np.zeros(width, dtype)}
