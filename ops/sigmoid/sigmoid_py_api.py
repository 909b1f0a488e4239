from __future__ import annotations

from typing import Any

import pykernels

TAKES_NAN = True

_sigmoid = pykernels.user_op_builder("sigmoid").Op("sigmoid_forward").Output("y").Function("x")


def sigmoid(x: Any, **options: Any) -> Any:
    """Logistic function, ``1 / (1 + exp(-x))``, element by element.

    Parameters
    ----------
    x : tensor
        Floating point, of any shape.
    **options
        On NumPy arrays, ``out`` and ``where`` as for NumPy's ufuncs.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `x`.
    """
    return _sigmoid(x, **options)
