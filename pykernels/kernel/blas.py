"""Provide the BLAS and LAPACK functions that compiled kernels call: the framework's, else NumPy's, else SciPy's.

Two BLAS libraries with thread pools compete for cores, and a small product can take many times as long. So a framework
with a BLAS of its own offers it here, and kernels share its threads. NumPy's is in the process in any case.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import importlib
import importlib.machinery
import importlib.util
import itertools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from pykernels.base import locks
from pykernels.kernel.c_interfaces import address_in, numpy_extension

#: The functions among the members of ``pk_blas`` (pykernels/blas.h).
_NAMES = (
    *("sgemm", "dgemm", "cgemm", "zgemm", "sgemv", "dgemv", "sdot", "ddot", "ssyrk", "dsyrk"),
    *("dgetrf", "dpotrf"),
)
# How Fortran's functions are named, and the bytes of their integers.
_SPELLINGS = (("scipy_{}_64_", 8), ("{}_64_", 8), ("scipy_{}_", 4), ("{}_", 4))

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
        kernel.pk_kernel_set_blas(_preferred or _default())
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
    for prefix, suffix in itertools.product(("scipy_openblas", "openblas"), ("64_", "")):
        with contextlib.suppress(AttributeError):
            get, set_ = (getattr(_library, f"{prefix}_{verb}_num_threads{suffix}") for verb in ("get", "set"))
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
        Whether it has all functions, under one of their usual names; if not, nothing changes.
    """
    global _library, _preferred
    table = _table_of(library)
    if table is None:
        return False
    with _lock:
        _preferred, _library = table, library
        for kernel in _attached:
            kernel.pk_kernel_set_blas(_preferred)
        if _attached:
            _pass_threads()
    return True


def _table_of(library: ctypes.CDLL) -> Table | None:
    """Return the addresses of a library's functions, or of those of one that it depends on; None if one is missing."""
    for spelling, integer_bytes in _SPELLINGS:
        with contextlib.suppress(AttributeError):
            return _table([_address(getattr(library, spelling.format(name))) for name in _NAMES], integer_bytes)
    return None


def _table(addresses: Sequence[int], integer_bytes: int) -> Table:
    return (ctypes.c_void_p * (len(_NAMES) + 1))(*addresses, integer_bytes)


@functools.cache
def _default() -> Table:
    """Return the addresses of the functions that NumPy calls; of SciPy's if this NumPy has no BLAS."""
    global _library
    _library = ctypes.CDLL(numpy_extension().__file__)
    return _table_of(_library) or _from_scipy()


def _from_scipy() -> Table:
    """Return the addresses of SciPy's functions, which it publishes for C callers as capsules."""
    global _library
    modules = [_load_module(f"scipy.linalg.cython_{name}") for name in ("blas", "lapack")]
    _library = ctypes.CDLL(modules[0].__file__)
    found = collections.ChainMap(*(module.__pyx_capi__ for module in modules))
    return _table([address_in(found[name]) for name in _NAMES], 4)


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
