from __future__ import annotations

import math
from typing import Any

import numpy as np

import pykernels

_softmax_cross_entropy = (
    pykernels.user_op_builder("softmax_cross_entropy")
    .Op("softmax_cross_entropy_forward")
    .Output("loss")
    .Output("probability")
    .Function("logits", "labels")
)


def softmax_cross_entropy(logits: Any, labels: Any, need_top_grad: bool = True, **options: Any) -> Any:
    """Softmax, and the cross entropy of its result with labels, row by row.

    ``probability = exp(logits) / sum(exp(logits))`` and ``loss = -log(probability[label])`` (Goodfellow et al., "Deep
    Learning", section 6.2.2.3), with the loss computed from the logits, so that it stays finite where a
    probability vanishes.

    Parameters
    ----------
    logits : tensor
        Floating point, of shape ``(rows, classes)``.
    labels : tensor
        Of shape ``(rows,)``: the class of each row, from 0, in integers or in floating point; without a gradient.
    need_top_grad : bool
        True for the ordinary chain rule. False makes this the end of a network, as ``need_top_grad=False`` of MXNet's
        custom operators does: the gradient is that of the sum of all losses, ``probability - onehot(label)``,
        and ignores the gradient of the output.
    **options
        On NumPy arrays, ``out`` as for NumPy's ufuncs.

    Returns
    -------
    tuple of tensor
        ``loss``, of shape ``(rows,)``, and ``probability``, of the shape of `logits`; both of its kind and dtype.

    Raises
    ------
    KernelError
        A label is not one of the classes.
    """
    return _softmax_cross_entropy(logits, labels, need_top_grad=need_top_grad, **options)


def sample_inputs(elements: int, dtype: Any) -> dict[str, Any]:
    """Arguments for benchmarks: rows of up to 1000 classes."""
    classes = min(1000, math.isqrt(elements))
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((elements // classes, classes))
    return {"logits": logits.astype(dtype), "labels": rng.integers(classes, size=len(logits))}
