from __future__ import annotations

from typing import Any

import pykernels

TAKES_NAN = True

_relu = pykernels.user_op_builder("relu").Op("relu_forward").Output("y").Function("x")


def relu(x: Any, **options: Any) -> Any:
    """Rectified linear unit, ``max(x, 0)``, element by element. The gradient at 0 is 0.

    Parameters
    ----------
    x : tensor
        Of any shape.
    **options
        On NumPy arrays, ``out`` and ``where`` as for NumPy's ufuncs.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `x`.
    """
    return _relu(x, **options)
