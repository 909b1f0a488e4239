"""Let the modules of a package import stand-ins for modules, which nobody else sees."""

from __future__ import annotations

import builtins
import functools
import importlib.machinery
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pykernels.base.importing import WrappedLoader, find_behind


@dataclass(frozen=True)
class Needs:
    """What a package needs that Python and its other packages lack."""

    #: Functions that return the stand-in for a module, by the module's full name. They are called when it is imported.
    modules: Mapping[str, Callable[[], types.ModuleType]]
    #: What takes the place of built-in functions, by module of the package and name.
    builtins: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Pairs of a text in the source and the text to run in its place, by module of the package.
    edits: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)


_needs: dict[str, Needs] = {}


def provide(package: str, needs: Needs) -> None:
    """Give the modules of a package what it needs, unless the package is imported already.

    If its import has failed, the modules that remain of it are forgotten, so that it can be imported again.
    """
    if package not in sys.modules:
        for name in [name for name in list(sys.modules) if name.startswith(f"{package}.")]:
            del sys.modules[name]
    _needs[package] = needs
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


class _Finder:
    """A finder that lets the others find the modules of these packages."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        needs = _needs.get(fullname.partition(".")[0])
        spec = None if needs is None else find_behind(self, fullname, path, target)
        if needs is not None and spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, needs)
        return spec


class _Loader(WrappedLoader):
    """A loader of a module with its own built-in functions, by which its import statements find the stand-ins."""

    def __init__(self, loader: Any, needs: Needs) -> None:
        super().__init__(loader)
        self._needs = needs

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__name__
        own = {"__import__": functools.partial(_import, self._needs), **self._needs.builtins.get(name, {})}
        vars(module)["__builtins__"] = {**vars(builtins), **own}
        if name not in self._needs.edits:
            super().exec_module(module)
            return
        source = self._loader.get_source(name)
        for old, new in self._needs.edits[name]:
            source = source.replace(old, new)
        exec(compile(source, str(module.__file__), "exec", dont_inherit=True), vars(module))


def _import(
    needs: Needs,
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> types.ModuleType:
    """Import like an import statement, which gets the top-level package of ``import a.b`` without ``from``."""
    if level == 0 and (make := needs.modules.get(name)) is not None:
        return make()
    module = builtins.__import__(name, globals, locals, fromlist or (), level)
    make = None if level else needs.modules.get(module.__name__)
    return module if make is None else make()


_finder = _Finder()
