from __future__ import annotations

from typing import Any

import pykernels

TAKES_NAN = True

_tanh = pykernels.user_op_builder("tanh").Op("tanh_forward").Output("y").Function("x")


def tanh(x: Any, **options: Any) -> Any:
    """Hyperbolic tangent, ``(exp(x) - exp(-x)) / (exp(x) + exp(-x))``, element by element.

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
    return _tanh(x, **options)
