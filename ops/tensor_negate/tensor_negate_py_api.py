from __future__ import annotations

from typing import Any

import pykernels

TAKES_NAN = True

_tensor_negate = pykernels.user_op_builder("tensor_negate").Op("tensor_negate_forward").Output("y").Function("x")


def tensor_negate(x: Any, **options: Any) -> Any:
    """Negation, ``-x``, element by element.

    Parameters
    ----------
    x : tensor
        Of any shape.
    **options
        On NumPy arrays, ``out`` and ``where`` as for NumPy's ufuncs.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `x`. Unsigned integers wrap around, as in NumPy.
    """
    return _tensor_negate(x, **options)
