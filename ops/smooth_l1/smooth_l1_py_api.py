from __future__ import annotations

from typing import Any

import pykernels

TAKES_NAN = True

_smooth_l1 = pykernels.user_op_builder("smooth_l1").Op("smooth_l1_forward").Output("y").Function("x")


def smooth_l1(x: Any, scalar: float = 1.0, **options: Any) -> Any:
    """Smooth L1 loss, element by element: a parabola near 0, the absolute value away from it.

    ``0.5 * (scalar * x)**2`` where ``abs(x) < 1 / scalar**2``, and ``abs(x) - 0.5 / scalar**2`` elsewhere (Girshick,
    "Fast R-CNN", arXiv:1504.08083), with the attribute of MXNet's ``smooth_l1``.

    Parameters
    ----------
    x : tensor
        Floating point, of any shape: a prediction minus its target.
    scalar : float
        The sigma of the literature, greater than 0: the larger, the narrower the parabola.
    **options
        On NumPy arrays, ``out`` and ``where`` as for NumPy's ufuncs.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `x`.
    """
    return _smooth_l1(x, scalar=scalar, **options)
