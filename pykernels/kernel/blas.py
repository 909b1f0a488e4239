"""The matrix products of SciPy's BLAS, as C function pointers for compiled kernels."""

from __future__ import annotations

import ctypes
import functools

__all__ = ["functions"]

_NAMES = ("sgemm", "dgemm", "sgemv", "dgemv", "sdot", "ddot")


@functools.lru_cache(maxsize=1)
def functions() -> ctypes.Array[ctypes.c_void_p]:
    """The table that ``pk_kernel_set_blas`` takes.

    SciPy publishes its BLAS for C callers as capsules (scipy.linalg.cython_blas).
    """
    from scipy.linalg import cython_blas

    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsules = [cython_blas.__pyx_capi__[name] for name in _NAMES]
    return (ctypes.c_void_p * len(_NAMES))(*(pointer_of(c, name_of(c)) for c in capsules))
