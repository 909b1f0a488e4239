"""Make ``cppimport`` compile users' C++ ops with the PopART headers and library of `pykernels.vendors.popart`."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pykernels.base.importing import after_import, is_imported

if TYPE_CHECKING:
    import types

#: The environment variables in which compilers look for headers and libraries.
_VARIABLES = ("CPLUS_INCLUDE_PATH", "LIBRARY_PATH")
_EXTENSIONS = tuple(importlib.machinery.EXTENSION_SUFFIXES)
#: The prefix of the symbol that modules built with the headers of `vendors.popart` need; the version follows it.
_MARK = b"popart_cpu_headers_"


def provide_popart() -> None:
    """Let `cppimport` compile and load modules that need PopART, as soon as it is imported."""
    if is_imported("cppimport"):
        _prepare()
    else:
        after_import("cppimport", _prepare)


def _prepare() -> None:
    from pykernels.vendors.popart import build, loading  # imported here because few programs have C++ ops

    environment = build.environment()
    os.environ.update((name, environment[name]) for name in _VARIABLES)
    # If a library is loaded already, the loader uses it for the modules that name it.
    loading.popart()
    sys.meta_path.insert(0, _Outdated(build.headers_symbol().encode()))


class _Outdated(importlib.abc.MetaPathFinder):
    """A finder that finds no module, but recompiles those that were built with another version of the headers.

    `cppimport` itself detects changed sources, but not changed headers.
    """

    def __init__(self, mark: bytes) -> None:
        self._mark = mark

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if found is None or found.origin is None or not found.origin.endswith(_EXTENSIONS):
            return None
        file = Path(found.origin)
        if file.with_name(f"{file.name.partition('.')[0]}.cpp").is_file():
            content = file.read_bytes()
            if _MARK in content and self._mark not in content:
                import cppimport

                file.unlink()
                cppimport.imp(fullname, opt_in=True)
        return None
