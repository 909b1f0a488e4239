"""Compile and load registrars: the C++ of a framework, linked with the C++ that all registrars share."""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pykernels.base import paths
from pykernels.base.errors import BuildError, LoadError
from pykernels.build import cache, toolchain

#: Strings of the C++ library as before 2011, which OneFlow's and MXNet's libraries use. The flags have no effect if the
#: C++ library has no others.
OLD_STRINGS = ("-D_GLIBCXX_USE_CXX11_ABI=0",)
#: The compiler's default, which PyTorch's libraries use.
NEW_STRINGS = ()
_KIND = "registrars"
# -O2 compiles a quarter longer and makes calls no faster. The loops that add results to large arrays need
# vectorization.
_OPTIMIZED = ("-O1", "-finline-small-functions", "-ftree-vectorize")
_DEFINITIONS = paths.CPP_DEFS / "include"


def sources(part: str) -> list[Path]:
    """Return the C++ files of a part of the registry: those of a framework, or the shared ones of the host."""
    return [paths.REGISTRY / f"{part}.cpp", *sorted((paths.REGISTRY / part).rglob("*.cpp"))]


def compile_registrar(
    framework: str,
    *,
    flags: Sequence[str] = (),
    strings: Sequence[str] = OLD_STRINGS,
    include: Sequence[Path] = (_DEFINITIONS, paths.REGISTRY),
    libraries: Sequence[str] = (),
    key: Sequence[str] = (),
) -> Path:
    """Compile the registrar of a framework, unless the cache has it.

    Parameters
    ----------
    framework : str
        The package, such as ``oneflow``, whose C++ lies in the registry under that name.
    flags, include, libraries, key : sequence
        As for `toolchain.build_shared`, beside those of all registrars.
    strings : sequence of str
        The flags for the C++ library's strings. Registrars with the same flags share one object file of the host.

    Raises
    ------
    CompileFailed
        The compiler rejects the code.
    BuildError
        There is no compiler.
    CacheError
        The cache cannot be written.
    """

    def build_host() -> Path:
        return toolchain.build_object(
            "host",
            paths.REGISTRY / "host.cpp",
            kind=_KIND,
            flags=(*_OPTIMIZED, *strings),
            include=(_DEFINITIONS, paths.REGISTRY),
            key=(host,),
        )

    host = cache.digest(sources("host"))
    declared = cache.digest(sorted((_DEFINITIONS / "pykernels").glob("*.h")))
    return toolchain.build_shared(
        f"{framework}_registrar",
        [paths.REGISTRY / f"{framework}.cpp"],
        kind=_KIND,
        flags=(*_OPTIMIZED, *strings, *flags),
        include=include,
        objects=[build_host],
        # A compiler that links the C++ library statically must not mix it with the one of the framework.
        libraries=(*libraries, "-Wl,--exclude-libs,ALL"),
        key=(*key, host, declared, cache.digest(sources(framework))),
    )


def open_library(path: Path) -> ctypes.CDLL:
    """Load a registrar.

    Raises
    ------
    LoadError
        The system or the framework lacks something that the registrar needs.
    """
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise LoadError(f"the registrar does not fit what is installed: {error}") from error


def python_headers(what: str) -> Path:
    """Return the folder of Python's headers, which `what` needs; raise `BuildError` if it lacks them."""
    folder = Path(sysconfig.get_paths()["include"])
    if not (folder / "Python.h").exists():
        raise BuildError(
            f"{what} needs Python's headers, but there is no {folder / 'Python.h'}; install them (Debian, Ubuntu: apt "
            "install python3-dev)"
        )
    return folder


def import_library(name: str, path: Path) -> Any:
    """Import an extension module of a name from any file; raise `ImportError` as Python does."""
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
