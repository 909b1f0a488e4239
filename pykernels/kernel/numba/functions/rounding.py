"""Round arrays to decimals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb
from numba.np.numpy_support import as_dtype

from pykernels.kernel.numba.functions.contraction import fits, sampled, store
from pykernels.kernel.numba.implementing import compiled, implements, is_array, require_known


@implements(*{np.round, np.around}, method="round", is_alone=True)
def _round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    if not is_array(a) or isinstance(a.dtype, nb.Boolean):
        return None
    require_known(decimals, "the number of decimals")
    result, dtype = sampled(np.round, a, decimals), as_dtype(a.dtype)
    if result is None or (dtype.kind != "f" and decimals < 0) or abs(decimals) > 22:
        return None
    scale = dtype.type(10 ** abs(decimals)) if dtype.kind == "f" else 1
    if dtype.kind != "f":
        compute = compiled(lambda a: a.copy())
    elif decimals == 0:
        compute = compiled(lambda a: np.rint(a))
    elif decimals > 0:
        compute = compiled(lambda a: np.rint(a * scale) / scale)
    else:
        compute = compiled(lambda a: np.rint(a / scale) * scale)
    if out is None:
        return lambda a: compute(a)
    return (lambda a, out: store(out, compute(a))) if fits(out, result) else None
