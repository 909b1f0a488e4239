"""Build and load the C++ that calls ops on arrays of shapes and dtypes that it has met before."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.base import locks, paths
from pykernels.base.errors import BuildError, CacheError, CompileFailed, PykernelsWarning
from pykernels.build import cache, toolchain
from pykernels.frameworks.registrar_build import import_library, python_headers

_NAME, _KIND = "numpy_registrar", "registrars"
_lock = locks.Lock("building the registrar for NumPy")


def make_call() -> Callable[..., Any] | None:
    """Return ``make_call`` of ``registry/numpy.cpp``; None if it cannot be built here.

    Warns
    -----
    PykernelsWarning
        There is a compiler, but what it makes does not work.
    """
    with _lock:
        return _find()


@functools.cache
def _find() -> Callable[..., Any] | None:
    try:
        made: Callable[..., Any] = import_library(_NAME, _compile()).make_call
        return made
    except (CompileFailed, ImportError) as error:
        warnings.warn(
            f"ops on NumPy's arrays are called through Python, which takes many times as long for small ones: {error}",
            PykernelsWarning,
            stacklevel=2,
        )
    except (BuildError, CacheError):
        pass
    return None


def _compile() -> Path:
    python = python_headers("the registrar for NumPy")
    if not any((cache.directory() / _KIND).glob(f"{_NAME}-*")):
        toolchain.compiler()  # raises before a cache is made in vain
    return toolchain.build_shared(
        _NAME,
        [paths.REGISTRY / "numpy.cpp"],
        kind=_KIND,
        flags=("-O1", *(f"-isystem{folder}" for folder in (python, np.get_include()))),
        include=(paths.CPP_DEFS / "include",),
        key=(np.__version__, sys.implementation.cache_tag),
    )
