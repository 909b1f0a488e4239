from __future__ import annotations

from typing import Any

import numpy as np

import pykernels

_focal_loss = (
    pykernels.user_op_builder("focal_loss").Op("focal_loss_forward").Output("loss").Function("logits", "targets")
)


def focal_loss(logits: Any, targets: Any, alpha: float = 0.25, gamma: float = 2.0, **options: Any) -> Any:
    """Sigmoid focal loss, element by element: a cross entropy in which elements that are predicted well count little.

    ``-a * (1 - p)**gamma * log(p)`` (Lin et al., "Focal Loss for Dense Object Detection", arXiv:1708.02002), where
    ``p = sigmoid(logits), a = alpha`` for a target of 1, and ``p = 1 - sigmoid(logits), a = 1 - alpha`` for 0.

    Parameters
    ----------
    logits : tensor
        Floating point, of any shape.
    targets : tensor
        Of the shape of `logits`, each 0 or 1, in integers or floating point; without a gradient.
    alpha : float
        The weight of targets that are 1, from 0 to 1.
    gamma : float
        How much less well-predicted elements count, not negative; with 0 this is the weighted cross entropy.
    **options
        On NumPy arrays, ``out`` and ``where`` as for NumPy's ufuncs.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `logits`.

    Raises
    ------
    KernelError
        A target is neither 0 nor 1.
    """
    return _focal_loss(logits, targets, alpha=alpha, gamma=gamma, **options)


def sample_inputs(elements: int, dtype: Any) -> dict[str, Any]:
    """Arguments for benchmarks: a quarter of the targets are 1."""
    rng = np.random.default_rng(0)
    targets = rng.random(elements) < 0.25
    return {"logits": rng.standard_normal(elements).astype(dtype), "targets": targets.astype(dtype)}
