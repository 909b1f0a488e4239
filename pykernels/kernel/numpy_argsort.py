"""Provide NumPy's own `np.argsort` to compiled kernels: only it puts equal elements where NumPy does.

The order of equal elements depends on NumPy's version, the dtype and the processor. Each dtype has a table of functions
(``PyArray_ArrFuncs``); this one takes contiguous elements and needs no GIL.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

import numpy as np

from pykernels.kernel.c_interfaces import address_in, numpy_extension

# The place of `_PyDataType_GetArrFuncs` in the C interface of NumPy 2.
_GET_FUNCTIONS = 365
# In NumPy 1, where a dtype has the table: behind a pointer, four characters, three integers and three pointers.
_FUNCTIONS = object.__basicsize__ + 8 + 4 + 3 * 4 + 3 * 8
# The place of the function in the table: behind 21 casts, 12 other functions and those for `np.sort`.
_ARGSORT = 21 + 12 + 3


def attach(library: ctypes.CDLL, dtypes: Iterable[str]) -> None:
    """Give a loaded kernel the functions for dtypes. Without them, equal elements keep their order."""
    for dtype in dtypes:
        table = _functions_of(np.dtype(dtype))
        if table:
            getattr(library, f"pk_kernel_set_argsort_{dtype}")(ctypes.c_void_p(table[_ARGSORT]))


def _functions_of(dtype: np.dtype) -> ctypes._Pointer[ctypes.c_void_p] | None:
    """Return the table of a dtype; None if this version of NumPy is not known to have one."""
    pointers = ctypes.POINTER(ctypes.c_void_p)
    version = int(np.__version__.partition(".")[0])
    if version == 1:
        return pointers.from_address(id(dtype) + _FUNCTIONS)
    if version == 2:
        functions = ctypes.cast(address_in(numpy_extension()._ARRAY_API), pointers)
        get = ctypes.PYFUNCTYPE(pointers, ctypes.py_object)(functions[_GET_FUNCTIONS] or 0)
        table: ctypes._Pointer[ctypes.c_void_p] = get(dtype)
        return table
    return None
