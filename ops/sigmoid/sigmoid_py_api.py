from __future__ import annotations

from typing import Any

import pykernels

TAKES_NAN = True

_sigmoid = pykernels.user_op_builder("sigmoid").Op("sigmoid_forward").Output("y").Function("x")


def sigmoid(x: Any) -> Any:
    """Logistic function, ``1 / (1 + exp(-x))``, element by element.

    Parameters
    ----------
    x : tensor
        Floating point, of any shape.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `x`.
    """
    return _sigmoid(x)
