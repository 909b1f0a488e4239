"""Keep the loaded ops, and the plans of their calls, which are valid until the loaded ops change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pykernels.base import locks
from pykernels.base.errors import ClashError
from pykernels.build import shipped
from pykernels.load import plugins
from pykernels.load.folders import owner_of
from pykernels.load.plugins import Module

#: The plans of calls of the loaded ops; a new dictionary whenever the loaded ops change.
plans: dict[Any, Any] = {}
#: Held while the loaded ops change.
lock = locks.Lock("loading ops")
#: The loaded modules by name.
modules: dict[str, Any] = {}
_stamps: dict[str, tuple[object, ...]] = {}


def install(module: Module) -> None:
    """Load a module under its name, and register it in the frameworks; raise `ClashError` if another folder has it."""
    shipped.offer([module.path.parent])
    with lock:
        check_clash(module)
        plugins.add(module)
        modules[module.name] = module
        _stamps[module.name] = module.stamp()
        _forget_plans()


def remove(module: Module) -> None:
    """Unload a module, and remove it from the frameworks."""
    with lock:
        plugins.remove(module)
        del modules[module.name], _stamps[module.name]
        _forget_plans()


def has_changed(module: Module) -> bool:
    """Return whether a module's files differ from those that were loaded under its name."""
    return _stamps.get(module.name) != module.stamp()


def check_clash(module: Module) -> None:
    """Raise `ClashError` if another folder has the name of a module."""
    known = modules.get(module.name)
    if known is not None and known.path.resolve() != module.path.resolve():
        raise ClashError(clash(module.name, known.path, module.path))


def clash(name: str, *folders: Path) -> str:
    """Return the message for folders that share a name."""
    owners = (owner_of(folder) for folder in folders)
    both = " and ".join(f"{folder} (of {owner})" if owner else f"{folder}" for folder, owner in zip(folders, owners))
    cure = f"unload the first with pykernels.unload_ops({name!r})" if name in modules else "load one by its path"
    return f"two folders define the op {name!r}: {both}. Rename one, uninstall its package, or {cure}"


def _forget_plans() -> None:
    global plans
    # Replaced, not cleared: a thread may be about to store a plan of the previous ops.
    plans = {}
