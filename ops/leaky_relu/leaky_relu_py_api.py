from __future__ import annotations

from typing import Any

import pykernels

TAKES_NAN = True

_leaky_relu = pykernels.user_op_builder("leaky_relu").Op("leaky_relu_forward").Output("y").Function("x")


def leaky_relu(x: Any, alpha: float = 0.01, **options: Any) -> Any:
    """Leaky rectified linear unit: `x` where it is positive, ``alpha * x`` elsewhere.

    Parameters
    ----------
    x : tensor
        Floating point, of any shape.
    alpha : float
        Slope for numbers that are not positive, and the gradient there.
    **options
        On NumPy arrays, ``out`` and ``where`` as for NumPy's ufuncs.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `x`.
    """
    return _leaky_relu(x, alpha=alpha, **options)
