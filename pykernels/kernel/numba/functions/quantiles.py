"""Medians, also of arrays with NaN and of large integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb
from numba.extending import overload

from pykernels.kernel.numba.target import kernel_target


def _typed_median(a: Any) -> Any:
    def median(a: Any) -> Any:
        return np.nan if np.isnan(a).any() else np.nanmedian(a)

    return median if isinstance(a, nb.Array) and isinstance(a.dtype, (nb.Integer, nb.Float)) else None


def _typed_nanmedian(a: Any) -> Any:
    def of_integers(a: Any) -> Any:
        # The mean of integers may not fit their dtype.
        return np.nanmedian(a.astype(np.float64))

    return of_integers if isinstance(a, nb.Array) and isinstance(a.dtype, nb.Integer) else None


overload(np.median, target=kernel_target.name)(_typed_median)
overload(np.nanmedian, target=kernel_target.name)(_typed_nanmedian)
