"""Registrars as shared objects: from a package of ops that carries one, else compiled here."""

from __future__ import annotations

import ctypes
import platform
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pykernels.base import paths
from pykernels.base.errors import BuildError, CompileFailed, LoadError, PykernelsWarning
from pykernels.base.frameworks import FRAMEWORKS
from pykernels.base.version import __version__
from pykernels.build import cache, machine, shipped
from pykernels.frameworks.installed import find_package

__all__ = ["REGISTRARS", "RegistrarLibrary", "build_library", "find_library", "installed_registrars", "open_library"]

#: The frameworks that have one, by package.
REGISTRARS = sorted(package for package, framework in FRAMEWORKS.items() if framework.has("registrar"))
# What a library is made for, beside versions: these must be the same, and the C library no older.
_SOURCES, _MACHINE, _LIBC = _COMMON = ("sources", "machine", "libc")


@dataclass(frozen=True)
class RegistrarLibrary:
    """A registrar as it is built here.

    Attributes
    ----------
    framework : str
        The package that it is for, such as ``oneflow``.
    path : Path
    made_for : dict of str to str
        What it fits: versions by their names, and what all registrars depend on.
    """

    framework: str
    path: Path
    made_for: dict[str, str]

    def __str__(self) -> str:
        return _described(self.framework, self.made_for)


def installed_registrars() -> list[str]:
    """The installed frameworks that have a registrar."""
    return [name for name in REGISTRARS if find_package(name) is not None]


def build_library(framework: str) -> RegistrarLibrary:
    """Build the registrar of a framework, which is not imported for that.

    Raises
    ------
    LoadError
        The framework is not installed, or of a version that its registrar is not made for.
    BuildError
        There is no compiler, or it fails.
    CacheError
        The cache cannot be written.
    """
    module = FRAMEWORKS[framework].module("registrar")
    return RegistrarLibrary(framework, module.build(), _made_for(framework, module.versions()))


def find_library(framework: str, versions: Mapping[str, str], compile_library: Callable[[], Path]) -> Path:
    """The registrar for a framework: from a package of ops that is loaded and carries it, else compiled.

    Parameters
    ----------
    versions : mapping of str to str
        What it has to be made for, by names for people, such as ``OneFlow``.
    compile_library : callable
        Compiles it, unless the cache has it.

    Raises
    ------
    BuildError
        No package carries one that fits, and there is no compiler, or it fails.
    CacheError
        The cache cannot be written.

    Warns
    -----
    PykernelsWarning
        One that would fit is damaged.
    """
    stores = list(shipped.stores())
    if not stores:
        return compile_library()
    wanted = _made_for(framework, versions)
    problems = []
    for store in stores:
        found = [each for each in store.registrars if each.framework == framework]
        for each in found:
            problem = _mismatch(each.made_for, wanted, store.pykernels)
            if not problem and each.is_intact():
                return each.path
            if not problem:
                problem = "is damaged: install its package again"
                warnings.warn(f"{each.path} {problem}", PykernelsWarning, stacklevel=2)
            problems.append(f"{each.path} {problem}")
        if not found:
            problems.append(f"{store.folder} has none")
    try:
        return compile_library()
    except CompileFailed:
        raise
    except BuildError as error:
        what = _described(framework, wanted)
        raise BuildError(
            f"{error}. It is needed to build the registrar for {what}, since no package of ops that is loaded carries "
            f"one that fits: {'; '.join(problems)}. To do without, install a wheel of the package that is built with "
            f"{what} (python -m pykernels build --wheel), or what its registrar is made for"
        ) from None


def open_library(path: Path) -> ctypes.CDLL:
    """Load a registrar.

    Raises
    ------
    LoadError
        This system or the framework lacks something that it needs.
    """
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise LoadError(f"the registrar does not fit what is installed: {error}") from error


def _made_for(framework: str, versions: Mapping[str, str]) -> dict[str, str]:
    """What a registrar that is built here is made for."""
    folders = [paths.REGISTRY / "host", paths.REGISTRY / framework, paths.CPP_DEFS / "include" / "pykernels"]
    sources = [paths.REGISTRY / "host.cpp", paths.REGISTRY / f"{framework}.cpp"]
    here = Path(__file__).parent
    sources += [here / "registrar_host.py", here / framework / "registrar.py"]
    sources += [file for folder in folders for file in sorted(folder.rglob("*")) if file.suffix in {".cpp", ".h"}]
    return {**versions, _MACHINE: platform.machine(), _LIBC: machine.libc(), _SOURCES: cache.digest(sources)}


def _described(framework: str, made_for: Mapping[str, str]) -> str:
    """For which framework and versions."""
    versions = [f"{what} {value}" for what, value in made_for.items() if what not in _COMMON]
    return " with ".join(versions) or f"any version of {FRAMEWORKS[framework].title}"


def _mismatch(made: Mapping[str, str], wanted: Mapping[str, str], maker: str) -> str:
    """What a registrar is made for that is not so here, the versions first; empty if it fits."""
    for what in dict.fromkeys((*wanted, *made)):
        there, here = made.get(what), wanted.get(what)
        if there == here or (what == _LIBC and not machine.is_newer(str(there), str(here))):
            continue
        if what == _SOURCES:
            other = f"that of pykernels {__version__} differs"
            return f"is compiled from the registrar of pykernels {maker}, and {other}"
        return f"is made for {what} {there}, and this is {here}"
    return ""
