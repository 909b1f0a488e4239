from __future__ import annotations

import math
from typing import Any

import numpy as np

import pykernels

_dense = pykernels.user_op_builder("dense").Op("dense_forward").Output("y").Function("data", "weight")


def dense(data: Any, weight: Any, bias: float = 0.0, **options: Any) -> Any:
    """Fully connected layer, ``data @ weight.T + bias``.

    Parameters
    ----------
    data : tensor
        Floating point, of shape ``(rows, inputs)``.
    weight : tensor
        Of shape ``(outputs, inputs)`` and the dtype of `data`; it can be learned.
    bias : float
        A constant added to every element.
    **options
        On NumPy arrays, ``out`` as for NumPy's ufuncs.

    Returns
    -------
    tensor
        Of shape ``(rows, outputs)``, of the same kind and dtype as `data`.
    """
    return _dense(data, weight, bias=bias, **options)


def sample_inputs(elements: int, dtype: Any) -> dict[str, Any]:
    """Arguments for benchmarks: a square layer of up to 256 units."""
    units = min(256, math.isqrt(elements))
    rng = np.random.default_rng(0)
    data, weight = rng.standard_normal((elements // units, units)), rng.standard_normal((units, units))
    return {"data": data.astype(dtype), "weight": weight.astype(dtype)}
