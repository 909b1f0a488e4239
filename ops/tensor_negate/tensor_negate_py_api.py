from __future__ import annotations

from typing import Any

import pykernels


def tensor_negate(x: Any) -> Any:
    """Negation, ``-x``, element by element.

    Parameters
    ----------
    x : tensor
        Of any shape.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `x`. Whole numbers without a sign wrap around, as in NumPy.
    """
    op = pykernels.user_op_builder("tensor_negate").Op("tensor_negate_forward").Input("x", [x]).Output("y").Build()
    return op.InferAndTryRun().SoleOutputBlob()
