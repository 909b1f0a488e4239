"""Provide NumPy's own functions for sorting to compiled kernels.

Only its `np.argsort` puts equal elements where NumPy does: their order depends on NumPy's version, the dtype and the
processor. Its `np.sort` is quicker than ours where it is vector code. Each dtype has a table of functions
(``PyArray_ArrFuncs``); these take contiguous elements and need no GIL.
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
# The places of the functions in the table: behind 21 casts and 12 other functions, three each.
_SORT = 21 + 12
_ARGSORT = _SORT + 3
# By the bytes of an element: the instructions for which NumPy 2 has vector code that is quicker than ours.
_INSTRUCTIONS = {2: "AVX512_ICL", 4: "AVX2", 8: "AVX2"}


def attach(library: ctypes.CDLL, names: Iterable[str]) -> None:
    """Give a loaded kernel the functions that it takes by those of the `names`.

    Without these, it sorts by ours, which keep equal elements in their order.
    """
    for name in names:
        *_, function, dtype = name.split("_")
        table = _functions_of(np.dtype(dtype))
        if table and (function == "argsort" or _sorts_in_vectors(np.dtype(dtype))):
            place = {"sort": _SORT, "argsort": _ARGSORT}[function]
            getattr(library, name)(ctypes.c_void_p(table[place]))


def _version() -> int:
    return int(np.__version__.partition(".")[0])


def _sorts_in_vectors(dtype: np.dtype) -> bool:
    """Whether NumPy sorts a dtype by vector code on this processor; it may have been told to leave instructions."""
    instructions = _INSTRUCTIONS.get(dtype.itemsize)
    return _version() == 2 and bool(instructions and numpy_extension().__cpu_features__.get(instructions))


def _functions_of(dtype: np.dtype) -> ctypes._Pointer[ctypes.c_void_p] | None:
    """Return the table of a dtype; None if this version of NumPy is not known to have one."""
    pointers = ctypes.POINTER(ctypes.c_void_p)
    if _version() == 1:
        return pointers.from_address(id(dtype) + _FUNCTIONS)
    if _version() == 2:
        functions = ctypes.cast(address_in(numpy_extension()._ARRAY_API), pointers)
        get = ctypes.PYFUNCTYPE(pointers, ctypes.py_object)(functions[_GET_FUNCTIONS] or 0)
        table: ctypes._Pointer[ctypes.c_void_p] = get(dtype)
        return table
    return None
