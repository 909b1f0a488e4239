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
    """Call `callback` at the end of every import of a package from now on, which raises what it raises."""
    _callbacks.setdefault(package, []).append(callback)
    if _watcher not in sys.meta_path:
        sys.meta_path.insert(0, _watcher)


def is_imported(package: str) -> bool:
    """Return whether the import of `package` is complete; a folder without ``__init__.py`` does not count."""
    spec = getattr(sys.modules.get(package), "__spec__", None)
    return spec is not None and spec.origin is not None and not getattr(spec, "_initializing", False)


def find_behind(
    finder: Any, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None
) -> importlib.machinery.ModuleSpec | None:
    """Return what the finders that come after `finder` in ``sys.meta_path`` find."""
    for other in sys.meta_path[sys.meta_path.index(finder) + 1 :]:
        spec = other.find_spec(fullname, path, target)
        if spec is not None:
            return spec
    return None


class WrappedLoader(Loader):
    """A loader that leaves everything to another one."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        """Return the module that the other loader creates; None for Python's own way."""
        return cast("types.ModuleType | None", self._loader.create_module(spec))

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the module's code."""
        self._loader.exec_module(module)


class _Watcher:
    """A finder that lets the others find a package and adds the callbacks to its import."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = find_behind(self, fullname, path, target) if fullname in _callbacks else None
        # A folder without __init__.py has no origin.
        if spec is not None and spec.loader is not None and spec.origin is not None:
            spec.loader = _Announcing(spec.loader, fullname)
        return spec


class _Announcing(WrappedLoader):
    """A loader that runs a package's own loader and then the callbacks."""

    def __init__(self, loader: Any, package: str) -> None:
        super().__init__(loader)
        self._package = package

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        for callback in _callbacks[self._package]:
            callback()


_watcher = _Watcher()
