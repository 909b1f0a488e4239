"""Convert between NumPy's dtypes and OneFlow's ``DataType`` numbers, which the C ABIs use."""

from __future__ import annotations

import functools

import numpy as np

from pykernels.base.errors import CallError

# All but bfloat16.
_NUMBERS: dict[np.dtype, int] = {
    np.dtype(np.float16): 9,
    np.dtype(np.float32): 2,
    np.dtype(np.float64): 3,
    np.dtype(np.int8): 4,
    np.dtype(np.int16): 17,
    np.dtype(np.int32): 5,
    np.dtype(np.int64): 6,
    np.dtype(np.uint8): 7,
    np.dtype(np.uint16): 13,
    np.dtype(np.uint32): 14,
    np.dtype(np.uint64): 15,
    np.dtype(np.bool_): 12,
    np.dtype(np.complex64): 20,
    np.dtype(np.complex128): 21,
}
_DTYPES = {number: dtype for dtype, number in _NUMBERS.items()}
_BFLOAT16 = 11


@functools.cache
def bfloat16() -> np.dtype:
    """Return the dtype of bfloat16 numbers, which NumPy itself does not have."""
    import ml_dtypes  # not above: few programs need it

    return np.dtype(ml_dtypes.bfloat16)


def is_bfloat16(dtype: np.dtype) -> bool:
    """Whether a dtype is that of bfloat16 numbers."""
    return dtype.kind == "V" and dtype.name == "bfloat16"


def seen_as(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the arrays that a kernel sees for tensors of a dtype: float32 for bfloat16.

    Its results are rounded once, to nearest and to even.
    """
    return np.dtype(np.float32) if is_bfloat16(dtype) else dtype


def computed_in(dtype: np.dtype) -> np.dtype:
    """Return the dtype of a kernel's arithmetic: float32 for float16 and bfloat16."""
    return np.dtype(np.float32) if dtype == np.float16 else seen_as(dtype)


def real(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the parts of complex numbers; any other dtype as it is."""
    return np.finfo(dtype).dtype if dtype.kind == "c" else dtype


def complex_of(dtype: np.dtype) -> np.dtype:
    """Return the dtype of complex numbers whose parts have a dtype; raise `ValueError` if there is none."""
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"there are no complex numbers with the precision of {dtype}")
    return np.result_type(dtype, np.complex64)


def known() -> list[np.dtype]:
    """Return every dtype that ops can take, as `SupportedDtypes` of the registrars does."""
    return [bfloat16(), *_NUMBERS]


def find(dtype: np.dtype | type | str) -> np.dtype:
    """Return a dtype that is given as `np.dtype` takes it, or as "bfloat16"; raise `TypeError` if it is none."""
    return bfloat16() if isinstance(dtype, str) and dtype == "bfloat16" else np.dtype(dtype)


def number_of(dtype: np.dtype | type | str) -> int:
    """Return OneFlow's number for a NumPy dtype; raise `CallError` if it has none, so that no op can take it."""
    wanted = find(dtype)
    if is_bfloat16(wanted):
        return _BFLOAT16
    try:
        return _NUMBERS[wanted]
    except KeyError:
        names = ", ".join(map(str, known()))
        raise CallError(f"no op can take arrays of dtype {wanted}; the dtypes are {names}") from None


def from_number(number: int) -> np.dtype:
    """Return the NumPy dtype for OneFlow's number; raise `KeyError` if there is none."""
    return bfloat16() if number == _BFLOAT16 else _DTYPES[number]


def dtype_name(number: int) -> str:
    """Return a name for messages, also for numbers without a NumPy dtype."""
    if number == 0:
        return "unknown"
    try:
        return str(from_number(number))
    except KeyError:
        return f"OneFlow data type {number}"
