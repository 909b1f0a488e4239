"""Provide the BLAS and LAPACK functions that compiled kernels call: from the framework's library, else from SciPy's.

Two BLAS libraries with thread pools compete for cores, and a small product can take many times as long. So a framework
with a BLAS of its own offers it here, and kernels share its threads.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import importlib
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from pykernels.base import locks

#: The members of ``pk_blas`` (pykernels/blas.h).
_NAMES = ("sgemm", "dgemm", "sgemv", "dgemv", "sdot", "ddot", "ssyrk", "dsyrk", "dgetrf")

Table: TypeAlias = "ctypes.Array[ctypes.c_void_p]"

_lock = locks.Lock("looking for matrix products")
_attached: list[ctypes.CDLL] = []
_preferred: Table | None = None
# The library that provides the functions.
_library: ctypes.CDLL | None = None
_watchers: list[Callable[[int, int], None]] = []


def attach(kernel: ctypes.CDLL) -> None:
    """Give a loaded kernel its matrix products."""
    with _lock:
        kernel.pk_kernel_set_blas(_preferred or _from_scipy())
        _attached.append(kernel)
        if len(_attached) == 1:
            _pass_threads()


def watch_threads(watcher: Callable[[int, int], None]) -> None:
    """Call `watcher` as soon as a kernel has matrix products, and whenever another library provides them.

    Parameters
    ----------
    watcher : callable
        Takes the addresses of the functions that get and set the number of threads, ``int get(void)`` and ``void
        set(int)``; zeros if the library lacks them.
    """
    with _lock:
        _watchers.append(watcher)
        if _attached:
            _pass_threads()


def _pass_threads() -> None:
    addresses = (0, 0)
    for prefix in ("scipy_openblas", "openblas"):
        with contextlib.suppress(AttributeError):
            get, set_ = (getattr(_library, f"{prefix}_{verb}_num_threads") for verb in ("get", "set"))
            addresses = (_address(get), _address(set_))
            break
    for watcher in _watchers:
        watcher(*addresses)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def prefer(library: ctypes.CDLL) -> bool:
    """Make all kernels use the BLAS of a library, or of one that it depends on.

    Returns
    -------
    bool
        Whether it has all functions, under their Fortran names and with 32-bit integers; if not, nothing changes.
    """
    global _library, _preferred
    try:
        addresses = [ctypes.cast(getattr(library, f"{name}_"), ctypes.c_void_p).value for name in _NAMES]
    except AttributeError:
        return False
    with _lock:
        _preferred, _library = _table(addresses), library
        for kernel in _attached:
            kernel.pk_kernel_set_blas(_preferred)
        if _attached:
            _pass_threads()
    return True


def _table(addresses: Sequence[int | None]) -> Table:
    return (ctypes.c_void_p * len(_NAMES))(*addresses)


def _from_scipy() -> Table:
    """Return the addresses of SciPy's functions, which it publishes for C callers as capsules."""
    global _library
    modules = [_load_module(f"scipy.linalg.cython_{name}") for name in ("blas", "lapack")]
    _library = ctypes.CDLL(modules[0].__file__)
    found = collections.ChainMap(*(module.__pyx_capi__ for module in modules))
    return _table([address_in(found[name]) for name in _NAMES])


def address_in(capsule: Any) -> int:
    """Return the address that a module publishes for C callers as a capsule."""
    name_of, address_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address_of.restype, address_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address: int = address_of(capsule, name_of(capsule))
    return address


def _load_module(name: str) -> types.ModuleType:
    """Import only this module of scipy.linalg: importing the whole package takes some forty times as long."""
    if name in sys.modules:
        return sys.modules[name]
    package = importlib.util.find_spec("scipy")
    folders = [f"{folder}/linalg" for folder in (package and package.submodule_search_locations) or ()]
    spec = importlib.machinery.PathFinder.find_spec(name, folders)
    if spec is None or spec.loader is None:
        return importlib.import_module(name)  # raises the error that names what is missing
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
