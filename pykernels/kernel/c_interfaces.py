"""Find what NumPy and SciPy publish for C callers."""

from __future__ import annotations

import ctypes
import sys
import types
from typing import Any


def numpy_extension() -> types.ModuleType:
    """Return the module that holds NumPy's machine code."""
    name = "_core" if "numpy._core" in sys.modules else "core"  # NumPy 2 and 1
    return sys.modules[f"numpy.{name}._multiarray_umath"]


def address_in(capsule: Any) -> int:
    """Return the address in a capsule."""
    name_of, address_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address_of.restype, address_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address: int = address_of(capsule, name_of(capsule))
    return address
