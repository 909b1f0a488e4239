from __future__ import annotations

from typing import Any

import pykernels


def dropout(x: Any, p: float = 0.5, seed: int = 0) -> Any:
    """Set elements to 0 at random while training, and scale the others up so that the mean stays.

    ``y = x * mask``, where `mask` is 0 with probability `p` and ``1 / (1 - p)`` otherwise (Srivastava et al.,
    "Dropout", JMLR 15, 2014). Outside of training `mask` is 1. Which elements are dropped follows from `seed` and
    their places alone, by the generator SplitMix64 (Steele et al., "Fast Splittable Pseudorandom Number Generators",
    OOPSLA 2014).

    Parameters
    ----------
    x : tensor
        Floating point, of any shape.
    p : float
        The probability with which an element is dropped, from 0 to less than 1.
    seed : int
        Not negative. The same seed, 0 as any other, drops the same places again: give every layer and every step one
        of its own.

    Returns
    -------
    tuple of tensor
        ``y`` and ``mask``, of the same kind, shape and dtype as `x`.
    """
    return (
        pykernels.user_op_builder("dropout")
        .Op("dropout_forward")
        .Input("x", [x])
        .Output("y")
        .Output("mask")
        .Attr("p", p)
        .Attr("seed", seed)
        .Build()
        .InferAndTryRun()
        .RemoteBlobList()
    )
