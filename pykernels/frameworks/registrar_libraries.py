"""Find or build the shared objects of registrars: a package of ops ships one, or they are compiled here."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pykernels.base import paths
from pykernels.base.errors import BuildError, CompileFailed, PykernelsWarning
from pykernels.base.frameworks import FRAMEWORKS
from pykernels.base.version import __version__
from pykernels.build import cache, machine, shipped
from pykernels.frameworks.installed import find_package
from pykernels.frameworks.registrar_build import sources

#: The frameworks that have a registrar, by package.
REGISTRARS = sorted(package for package, framework in FRAMEWORKS.items() if framework.has("registrar"))
# What a library is built for beside versions. These must be equal, and the C library must not be older.
_SOURCES, _MACHINE, _LIBC = _COMMON = ("sources", "machine", "libc")


@dataclass(frozen=True)
class RegistrarLibrary:
    """A registrar that is built here."""

    #: The framework's package, such as ``oneflow``.
    framework: str
    path: Path
    #: The versions that it fits, by name, and what all registrars depend on.
    made_for: dict[str, str]

    def __str__(self) -> str:
        return _described(self.framework, self.made_for)


def installed_registrars() -> list[str]:
    """Return the installed frameworks that have a registrar."""
    return [name for name in REGISTRARS if find_package(name) is not None]


def build_library(framework: str) -> RegistrarLibrary:
    """Return the registrar of a framework without importing the framework: shipped, cached or newly compiled.

    Raises
    ------
    LoadError
        The framework is not installed, or its registrar does not support its version.
    BuildError
        There is no compiler, or it fails.
    CacheError
        The cache cannot be written.
    """
    module = FRAMEWORKS[framework].module("registrar")
    versions = module.versions()
    path = find_library(framework, versions, module.compile_library)
    return RegistrarLibrary(framework, path, _made_for(framework, versions))


def find_library(framework: str, versions: Mapping[str, str], compile_library: Callable[[], Path]) -> Path:
    """Return the registrar for a framework: from a loaded package of ops that ships it, else compiled.

    Parameters
    ----------
    versions : mapping of str to str
        The versions that it must fit, by names for messages, such as ``OneFlow``.
    compile_library : callable
        Compiles it, unless the cache has it.

    Raises
    ------
    BuildError
        No package ships one that fits, and there is no compiler, or it fails.
    CacheError
        The cache cannot be written.

    Warns
    -----
    PykernelsWarning
        A shipped registrar that would fit is damaged.
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


def _made_for(framework: str, versions: Mapping[str, str]) -> dict[str, str]:
    """Return what a registrar that is built here fits."""
    headers = (paths.REGISTRY / "host", paths.REGISTRY / framework, paths.CPP_DEFS / "include" / "pykernels")
    here = Path(__file__).parent
    parts = [
        *sources("host"),
        *sources(framework),
        *(file for folder in headers for file in sorted(folder.rglob("*.h"))),
        here / "registrar_build.py",
        here / framework / "registrar.py",
    ]
    return {**versions, _MACHINE: platform.machine(), _LIBC: machine.libc(), _SOURCES: cache.digest(parts)}


def _described(framework: str, made_for: Mapping[str, str]) -> str:
    """Return the framework and the versions as text."""
    versions = [f"{what} {value}" for what, value in made_for.items() if what not in _COMMON]
    return " with ".join(versions) or f"any version of {FRAMEWORKS[framework].title}"


def _mismatch(made: Mapping[str, str], wanted: Mapping[str, str], maker: str) -> str:
    """Return why a registrar does not fit, versions first; empty if it fits."""
    for what in dict.fromkeys((*wanted, *made)):
        there, here = made.get(what), wanted.get(what)
        if there == here or (what == _LIBC and not machine.is_newer(str(there), str(here))):
            continue
        if what == _SOURCES:
            other = f"that of pykernels {__version__} differs"
            return f"is compiled from the registrar of pykernels {maker}, and {other}"
        return f"is made for {what} {there}, and this is {here}"
    return ""
