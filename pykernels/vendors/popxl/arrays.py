"""Convert users' data to arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pykernels.base.errors import CallError

if TYPE_CHECKING:
    from pykernels.vendors.popxl.dtypes import dtype

__all__ = ["to_numpy"]

_DOWNCAST = {
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
}


def to_numpy(data: Any, dtype: dtype | None = None, downcast: bool = True) -> np.ndarray:
    """An array of its own with the data.

    Parameters
    ----------
    data : array, sequence, number or PyTorch tensor
    dtype : dtype, optional
    downcast : bool
        Whether 64 bits become 32 where no `dtype` is given.

    Raises
    ------
    CallError
        It is no array of numbers.
    """
    if hasattr(data, "detach"):
        data = data.detach().cpu().numpy()
    try:
        array = np.array(data, dtype.as_numpy() if dtype is not None else None, order="C")
    except (TypeError, ValueError) as error:
        raise CallError(f"{data!r} is no array of numbers: {error}") from None
    if array.dtype.kind not in "biuf":
        raise CallError(f"{data!r} is no array of numbers: NumPy makes {array.dtype} of it")
    if dtype is None and downcast and array.dtype in _DOWNCAST:
        return array.astype(_DOWNCAST[array.dtype])
    return array
