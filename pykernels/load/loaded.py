"""The ops that are loaded, and the plans of calls that hold until these change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from pykernels.base import locks
from pykernels.base.errors import ClashError
from pykernels.build import shipped
from pykernels.load import plugins
from pykernels.load.folders import owner_of

__all__ = ["Module", "check_clash", "clash", "has_changed", "install", "lock", "modules", "remove"]

#: What has been found out about calls of the ops that are loaded; another dictionary whenever these change.
plans: dict[Any, Any] = {}
#: Held by whoever changes what is loaded.
lock = locks.Lock("loading ops")

_loaded: dict[str, Any] = {}
_stamps: dict[str, tuple[object, ...]] = {}


class Module(Protocol):
    """What is loaded."""

    name: str
    path: Path

    def stamp(self) -> tuple[object, ...]:
        """What its files are like."""


def modules() -> Mapping[str, Any]:
    """The modules that are loaded, by name."""
    return _loaded


def install(module: Module) -> None:
    """Make a module the one of its name, and enter it into the frameworks.

    Raises
    ------
    LoadError
        Another folder has that name.
    """
    shipped.offer([module.path.parent])
    with lock:
        check_clash(module)
        plugins.add(module)
        _loaded[module.name] = module
        _stamps[module.name] = module.stamp()
        _forget_plans()


def remove(module: Module) -> None:
    """Take a module out of what is loaded, and out of the frameworks."""
    with lock:
        plugins.remove(module)
        del _loaded[module.name], _stamps[module.name]
        _forget_plans()


def has_changed(module: Module) -> bool:
    """Whether the files of a module are not those that were loaded under its name."""
    return _stamps.get(module.name) != module.stamp()


def check_clash(module: Module) -> None:
    """Raise `ClashError` if another folder has the name of a module."""
    known = _loaded.get(module.name)
    if known is not None and known.path.resolve() != module.path.resolve():
        raise ClashError(clash(module.name, known.path, module.path))


def clash(name: str, *folders: Path) -> str:
    """What is wrong where folders share a name."""
    owners = (owner_of(folder) for folder in folders)
    both = " and ".join(f"{folder} (of {owner})" if owner else f"{folder}" for folder, owner in zip(folders, owners))
    cure = f"unload the first with pykernels.unload_ops({name!r})" if name in _loaded else "load one by its path"
    return f"two folders define the op {name!r}: {both}. Rename one, uninstall its package, or {cure}"


def _forget_plans() -> None:
    global plans
    # Not cleared: a thread may be about to enter what it has found among the ops of before.
    plans = {}
