from __future__ import annotations

import math
from typing import Any

import numpy as np

import pykernels

_batch_norm = (
    pykernels.user_op_builder("batch_norm")
    .Op("batch_norm_forward")
    .Output("y")
    .Function("x", "gamma", "beta", "moving_mean", "moving_var")
)


def batch_norm(
    x: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_var: Any,
    eps: float = 1e-3,
    momentum: float = 0.9,
    axis: int = 1,
    **options: Any,
) -> Any:
    """Batch normalization, ``gamma * (x - mean) / sqrt(var + eps) + beta`` (Ioffe and Szegedy, arXiv 1502.03167).

    In training, the mean and the (biased) variance are those of the batch, and the moving statistics follow them:
    ``moving = momentum * moving + (1 - momentum) * batch``. Otherwise they are the moving statistics.

    Parameters
    ----------
    x : tensor
        Floating point, of any shape.
    gamma, beta : tensor
        One number for each channel, of the dtype of `x`; they can be learned.
    moving_mean, moving_var : tensor
        Auxiliary states, one number for each channel, changed in place in training.
    eps : float
        Added to the variance, so that the divisor is not 0.
    momentum : float
        The share of the moving statistics that stays.
    axis : int
        The axis of the channels.
    **options
        On NumPy arrays, ``out`` as for NumPy's ufuncs.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `x`.
    """
    return _batch_norm(x, gamma, beta, moving_mean, moving_var, eps=eps, momentum=momentum, axis=axis, **options)


def sample_inputs(elements: int, dtype: Any) -> list[dict[str, Any]]:
    """Arguments for benchmarks: images, and rows, of up to 32 channels."""
    channels = min(32, math.isqrt(elements))
    side = min(16, math.isqrt(elements // channels))
    shapes = ((elements // (channels * side * side), channels, side, side), (elements // channels, channels))
    return [_sample(shape, channels, dtype) for shape in shapes]


def _sample(shape: tuple[int, ...], channels: int, dtype: Any) -> dict[str, Any]:
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    ones, zeros = np.ones(channels, dtype), np.zeros(channels, dtype)
    return {"x": x, "gamma": ones, "beta": zeros, "moving_mean": zeros.copy(), "moving_var": ones.copy()}
