"""Provide packages and programs that scripts use and that are not installed, as modules of this package."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import shlex
import shutil
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pykernels.base.errors import CacheError
from pykernels.base.refusals import MissingName
from pykernels.build import cache

_provided: dict[str, str] = {}


def provide(package: str, module: str) -> None:
    """Make imports of `package` and its submodules return `module` and its submodules, unless `package` is installed.

    A package that is installed, now or later, is never replaced. The module that stands in, such as
    ``pykernels.vendors.neuron`` for ``torch_neuronx``, is imported only with the package.
    """
    _provided[package] = module
    if _packages not in sys.meta_path:
        # Append this finder: what the others find takes precedence.
        sys.meta_path.append(_packages)
        # Insert this finder before the others, which would import a submodule again, from the path of the package.
        sys.meta_path.insert(0, _first)


def provide_program(name: str, module: str) -> None:
    """Add a program to the PATH of this process and its children, unless there is one of that name.

    ``python -m pykernels run -m`` runs `module` in its place.
    """
    if shutil.which(name) is not None:
        return
    text = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m pykernels run -m {module} "$@"\n'

    def write(path: Path) -> dict[str, Any]:
        path.write_text(text)
        path.chmod(0o755)
        return {}

    # Few scripts call the program: without a cache it is missing.
    with contextlib.suppress(CacheError):
        made = cache.build("programs", cache.digest([name, text]), name, write)
        # Append the folder, so that all others take precedence.
        os.environ["PATH"] = os.pathsep.join([*filter(None, [os.environ.get("PATH")]), str(made.path.parent)])


def missing(place: str, names: Iterable[str], module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of `module`, which stands in for `place`; it raises an error that lists `names`."""

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingName(f"{place}.{name} is not provided by {module}: {place} has {', '.join(sorted(names))}")

    return __getattr__


def public(module: types.ModuleType) -> dict[str, Any]:
    """Return the functions and classes that a module itself defines, by name, without private ones."""
    own = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    return {name: value for name, value in own.items() if getattr(value, "__module__", None) == module.__name__}


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what no other finder does, or, as the first one, submodules of our packages, which others must not find."""

    def __init__(self, *, is_first: bool) -> None:
        self._is_first = is_first

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, dot, rest = fullname.partition(".")
        if package not in _provided or self._is_first != (bool(dot) or _is_mere_folder(package)):
            return None
        name = f"{_provided[package]}{dot}{rest}"
        if dot and getattr(sys.modules.get(fullname.rpartition(".")[0]), "__name__", "") != name.rpartition(".")[0]:
            return None  # the parent is an installed package
        found = importlib.util.find_spec(name)
        if found is None:
            return None
        return importlib.machinery.ModuleSpec(
            fullname, _Alias(name), origin=found.origin, is_package=found.submodule_search_locations is not None
        )


def _is_mere_folder(package: str) -> bool:
    """Whether a package is only a folder without code, which Python would import as an empty package."""
    found = importlib.machinery.PathFinder.find_spec(package)
    return found is not None and found.origin is None


class _Alias(importlib.abc.Loader):
    """Loads a module under another name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = importlib.import_module(self._name)
        self._own = module.__spec__
        # Enter the submodules that are already imported under both names. Importing one again would set it as an
        # attribute of its package, where a function may have the same name.
        for name, part in list(sys.modules.items()):
            if name.startswith(f"{self._name}."):
                sys.modules.setdefault(f"{spec.name}{name.removeprefix(self._name)}", part)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__spec__ = self._own  # restored, since the import has replaced it with the spec of the other name

    def get_code(self, fullname: str) -> types.CodeType | None:
        """Return the code of a module for ``python -m``, which runs it again."""
        spec = importlib.util.find_spec(self._name)
        assert spec is not None and isinstance(spec.loader, importlib.abc.InspectLoader)
        return spec.loader.get_code(self._name)


_packages, _first = _Finder(is_first=False), _Finder(is_first=True)
