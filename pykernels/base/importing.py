"""Run callbacks when a package is imported."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import types
    from importlib.abc import Loader
else:
    Loader = object  # importlib.abc imports much of the standard library from Python 3.12 on

_callbacks: dict[str, list[Callable[[], object]]] = {}


def after_import(package: str, callback: Callable[[], object]) -> None:
    """Call `callback` at the end of every import of a top-level package from now on, which raises what it raises."""
    _callbacks.setdefault(package, []).append(callback)
    if _watcher not in sys.meta_path:
        sys.meta_path.insert(0, _watcher)


def is_imported(package: str) -> bool:
    """Return whether the import of `package` is complete; a folder without ``__init__.py`` does not count."""
    spec = getattr(sys.modules.get(package), "__spec__", None)
    return spec is not None and spec.origin is not None and not getattr(spec, "_initializing", False)


class _Watcher:
    """A finder that lets the others find a package and adds the callbacks to its import."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _callbacks:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None and spec.origin is not None:  # else it is a folder without __init__.py
                    spec.loader = _Announcing(spec.loader, fullname)
                return spec
        return None


class _Announcing(Loader):
    """A loader that runs a package's own loader and then the callbacks."""

    def __init__(self, loader: Any, package: str) -> None:
        self._loader = loader
        self._package = package

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return cast("types.ModuleType | None", self._loader.create_module(spec))

    def exec_module(self, module: types.ModuleType) -> None:
        self._loader.exec_module(module)
        for callback in _callbacks[self._package]:
            callback()


_watcher = _Watcher()
