"""Packages that scripts import and that are not installed, provided by modules of this package."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence

__all__ = ["provide"]

_provided: dict[str, str] = {}


def provide(package: str, module: str) -> None:
    """Have imports of `package` and of what is in it give `module` and what is in that, where there is no such package.

    Parameters
    ----------
    package : str
        A top-level package, ``torch_neuronx``. One that is installed, or comes later, is never replaced.
    module : str
        The package that stands in for it, ``pykernels.vendors.neuron``; it is imported no sooner than `package`.
    """
    _provided[package] = module
    if _packages not in sys.meta_path:
        # Behind all others: whatever they find is imported instead.
        sys.meta_path.append(_packages)
        # Before all others, which would import a part a second time, from the path of the package.
        sys.meta_path.insert(0, _first)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what nobody else does, or, as the first, what others must not find: parts of our packages."""

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
            return None  # of an installed package
        found = importlib.util.find_spec(name)
        if found is None:
            return None
        return importlib.machinery.ModuleSpec(
            fullname, _Alias(name), origin=found.origin, is_package=found.submodule_search_locations is not None
        )


def _is_mere_folder(package: str) -> bool:
    """Whether all there is of a package is a folder of that name without code, which Python would import as empty."""
    found = importlib.machinery.PathFinder.find_spec(package)
    return found is not None and found.origin is None


class _Alias(importlib.abc.Loader):
    """Loads a module under another name than its own."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = importlib.import_module(self._name)
        self._own = module.__spec__
        # Parts that it has imported are there under both names. Importing one again would set it as an attribute of its
        # package, where a function may have its name.
        for name, part in list(sys.modules.items()):
            if name.startswith(f"{self._name}."):
                sys.modules.setdefault(f"{spec.name}{name.removeprefix(self._name)}", part)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__spec__ = self._own  # in whose place the import has put that of the other name

    def get_code(self, fullname: str) -> types.CodeType | None:
        """For ``python -m``, which runs a module's code anew."""
        spec = importlib.util.find_spec(self._name)
        assert spec is not None and isinstance(spec.loader, importlib.abc.InspectLoader)
        return spec.loader.get_code(self._name)


_packages, _first = _Finder(is_first=False), _Finder(is_first=True)
