"""Numbers at equal distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb

from pykernels.kernel.numba.implementing import compiled, implements, is_integer


@compiled
def _spaced(start: float, stop: float, num: Any, endpoint: Any) -> Any:
    if num < 0:
        raise ValueError("Number of samples must be non-negative.")
    steps, distance = num - 1 if endpoint else num, stop - start
    made = np.arange(num) * 1.0
    if steps > 0:
        # As NumPy does where the distance of two numbers is too small for a float64.
        step = distance / steps
        made = made / steps * distance if step == 0 else made * step
    else:
        made = made * distance
    made += start
    if endpoint and num > 1:
        made[-1] = stop
    return made


@implements(np.linspace)
def _linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False, dtype: Any = None
) -> Any:
    is_number = all(isinstance(each, (int, float, nb.Integer)) or each is nb.float64 for each in (start, stop))
    is_flag = isinstance(endpoint, (bool, nb.Boolean))
    if retstep is not False or not is_number or not is_integer(num) or not is_flag:
        return None
    if dtype is not None and (not isinstance(dtype, np.dtype) or dtype.kind not in "biuf"):
        return None
    in_dtype, is_floored = dtype or np.dtype(np.float64), dtype is not None and dtype.kind in "iu"

    def linspace(start: Any, stop: Any, num: Any, endpoint: Any) -> Any:
        made = _spaced(np.float64(start), np.float64(stop), num, endpoint)
        if is_floored:
            made = np.floor(made)
        return made.astype(in_dtype)

    return linspace
