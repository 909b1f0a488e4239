from __future__ import annotations

import math
from typing import Any

import numpy as np

import pykernels

TAKES_NAN = True

_softmax = pykernels.user_op_builder("softmax").Op("softmax_forward").Output("y").Function("x")


def softmax(x: Any, axis: int = -1, **options: Any) -> Any:
    """Softmax, ``exp(x) / sum(exp(x))`` along one axis.

    Parameters
    ----------
    x : tensor
        Floating point, with one axis or more.
    axis : int
        The axis along which the result sums to 1; a negative one counts from the last.
    **options
        On NumPy arrays, ``out`` as for NumPy's ufuncs.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `x`.
    """
    return _softmax(x, axis=axis, **options)


def sample_inputs(elements: int, dtype: Any) -> list[dict[str, Any]]:
    """Arguments for benchmarks: rows of up to 1000 numbers; and columns."""
    width = min(1000, math.isqrt(elements))
    x = np.random.default_rng(0).standard_normal((elements // width, width))
    return [{"x": x.astype(dtype)}, {"x": x.astype(dtype), "axis": 0}]
