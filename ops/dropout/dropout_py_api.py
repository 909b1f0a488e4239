from __future__ import annotations

from typing import Any

import pykernels

_dropout = pykernels.user_op_builder("dropout").Op("dropout_forward").Output("y").Output("mask").Function("x")


def dropout(x: Any, p: float = 0.5, seed: int = 0, **options: Any) -> Any:
    """Set elements to 0 at random while training, and scale up the others to keep the mean.

    ``y = x * mask``, where `mask` is 0 with probability `p` and ``1 / (1 - p)`` otherwise (Srivastava et al.,
    "Dropout", JMLR 15, 2014). Outside of training `mask` is 1. `seed` and the positions alone determine the dropped
    elements, by the generator SplitMix64 (Steele et al., "Fast Splittable Pseudorandom Number Generators", OOPSLA
    2014).

    Parameters
    ----------
    x : tensor
        Floating point, of any shape.
    p : float
        The probability with which an element is dropped, from 0 to less than 1.
    seed : int
        Not negative. The same seed, 0 included, drops the same positions again: give every layer and every step a
        seed of its own.
    **options
        On NumPy arrays, ``out`` as for NumPy's ufuncs.

    Returns
    -------
    tuple of tensor
        ``y`` and ``mask``, of the same kind, shape and dtype as `x`.
    """
    return _dropout(x, p=p, seed=seed, **options)
