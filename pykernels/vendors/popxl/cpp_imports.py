"""``cppimport`` of users' ops in C++: it finds PopART's headers and library, those of `pykernels.vendors.popart`."""

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

__all__ = ["provide_popart"]

#: What compilers read.
_VARIABLES = ("CPLUS_INCLUDE_PATH", "LIBRARY_PATH")
_EXTENSIONS = tuple(importlib.machinery.EXTENSION_SUFFIXES)
#: So begins the symbol that a module needs if it was built with headers of `vendors.popart`; their version follows.
_MARK = b"popart_cpu_headers_"


def provide_popart() -> None:
    """Let `cppimport`, as soon as it is imported, compile and load modules that need PopART."""
    if is_imported("cppimport"):
        _prepare()
    else:
        after_import("cppimport", _prepare)


def _prepare() -> None:
    from pykernels.vendors.popart import build, loading  # not above: few programs have ops in C++

    environment = build.environment()
    os.environ.update((name, environment[name]) for name in _VARIABLES)
    # The loader takes a library that is there already for one that a module names.
    loading.popart()
    sys.meta_path.insert(0, _Outdated(build.headers_symbol().encode()))


class _Outdated(importlib.abc.MetaPathFinder):
    """Finds nothing itself: has modules compiled again whose headers were those of another version.

    `cppimport` compares sources, but not headers.
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
