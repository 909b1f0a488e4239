"""Derive the gradients of kernels, as NumPy code that an author keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def derive(function: Callable[..., Any], *arrays: Any, **attributes: Any) -> str:
    """Return the source of the gradient of a function that is written as NumPy code for arrays.

    Parameters
    ----------
    function : callable
        A function such as ``softplus(x, beta=1.0)``: arrays without, attributes with defaults or as keywords.
    *arrays : array_like, optional
        Arrays to call it with, whose shapes decide where NumPy broadcasts. By default all arrays have the same shape,
        with 1, 2 and 3 axes.
    **attributes
        Values of attributes that have no default.

    Returns
    -------
    str
        A function ``<function>_backward``. It takes those of the arrays, of the result ``y`` and of its gradient
        ``dy`` that it needs, and returns the gradient of each array that has one.

    Raises
    ------
    KernelError
        The function has a statement or an operation of which no gradient is derived, and the message has the line; or
        Python does not have the function's source, as in its interactive shell.
    """
    import numpy as np

    from pykernels.adjoint.derivation import derive_source

    return derive_source(function, [np.asarray(array) for array in arrays], attributes)
