"""Convert between NumPy's dtypes and OneFlow's ``DataType`` numbers, which the C ABIs use."""

from __future__ import annotations

import numpy as np

from pykernels.base.errors import CallError

_NUMBERS: dict[np.dtype, int] = {
    np.dtype(np.float32): 2,
    np.dtype(np.float64): 3,
    np.dtype(np.int8): 4,
    np.dtype(np.int32): 5,
    np.dtype(np.int64): 6,
    np.dtype(np.uint8): 7,
    np.dtype(np.float16): 9,
    np.dtype(np.bool_): 12,
    np.dtype(np.uint16): 13,
    np.dtype(np.uint32): 14,
    np.dtype(np.uint64): 15,
    np.dtype(np.int16): 17,
    np.dtype(np.complex64): 20,
    np.dtype(np.complex128): 21,
}
_DTYPES = {number: dtype for dtype, number in _NUMBERS.items()}


def known() -> list[np.dtype]:
    """Return every dtype that ops can take."""
    return list(_NUMBERS)


def number_of(dtype: np.dtype | type | str) -> int:
    """Return OneFlow's number for a NumPy dtype; raise `CallError` if it has none, so that no op can take it."""
    wanted = np.dtype(dtype)
    try:
        return _NUMBERS[wanted]
    except KeyError:
        known = ", ".join(str(d) for d in _NUMBERS)
        raise CallError(f"no op can take arrays of dtype {wanted}; the dtypes are {known}") from None


def from_number(number: int) -> np.dtype:
    """Return the NumPy dtype for OneFlow's number; raise `KeyError` if NumPy has none."""
    return _DTYPES[number]


def dtype_name(number: int) -> str:
    """Return a name for messages, also for numbers without a NumPy dtype."""
    if number == 0:
        return "unknown"
    return str(_DTYPES[number]) if number in _DTYPES else f"OneFlow data type {number}"
