"""Which ops there are: the folders that are found, and those that are loaded."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pykernels import frameworks, locks, paths, shipped
from pykernels.errors import CallError, ClashError, LoadError
from pykernels.module import CPP_DEF, PY_API, PY_DEF, PY_KERNEL, OpModule
from pykernels.refusals import WrongType

__all__ = ["ENTRY_POINTS", "find", "find_op", "install", "list_ops", "load_ops", "owner_of", "reload", "unload_ops"]

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # What a program says to be the `Ops` of a stub is that to pyright, too, which goes by what a function returns.
    Ops = TypeVar("Ops", bound=Collection[str], default=Mapping[str, OpModule])

#: The entry-point group of packages that carry op folders.
ENTRY_POINTS = "pykernels.ops"

#: What has been found out about calls of the ops that are loaded; another dictionary whenever these change.
plans: dict[Any, Any] = {}

_loaded: dict[str, OpModule] = {}
_stamps: dict[str, tuple[object, ...]] = {}
_lock = locks.Lock("loading ops")


def load_ops(*paths: str | Path, watch: bool = False) -> Ops:  # type: ignore[type-var]
    """Load op folders: from now on their ops exist in every supported framework that is, or will be, imported.

    Only names are entered; an op's files are compiled when it is first used.

    Parameters
    ----------
    *paths : str or Path
        Op folders, or folders of op folders. Without any: the ops that ship with pykernels, ``ops`` in the current
        directory, the folders that ``$PYKERNELS_PATH`` lists, and those of installed packages (entry-point group
        ``pykernels.ops``).
    watch : bool
        Whether to load an op again whenever its folder changes, as `reload` does: for a notebook beside an editor.
        What cannot be loaded is told on the standard error output, and the op stays as it was.

    Returns
    -------
    mapping of str to OpModule
        What this call has found, by name.

    Raises
    ------
    LoadError
        A folder is not there or incomplete, a Python file does not parse, or two folders have one name. Nothing is
        loaded then.
    """
    modules: dict[str, OpModule] = {}
    for folder in find(*paths):
        module = OpModule(folder.name, folder).py_api().cpp_def().py_kernel()
        module.check_files()
        if folder.name in modules:
            raise ClashError(_clash(folder.name, modules[folder.name].path, folder))
        modules[folder.name] = module
    shipped.offer(module.path.parent for module in modules.values())  # all, before the first one is entered anywhere
    with _lock:
        for module in modules.values():
            _check_clash(module)
        for name, module in modules.items():
            known = _loaded.get(name)
            if known is not None and _stamps.get(name) == known.stamp():
                modules[name] = known
            else:
                install(module)
    if watch:
        from pykernels import watching  # not above: it needs this module

        watching.watch(modules)
    return cast("Ops", modules)


def install(module: OpModule) -> None:
    """Make a module the one of its name, and enter it into the frameworks.

    Raises
    ------
    LoadError
        Another folder has that name.
    """
    shipped.offer([module.path.parent])
    with _lock:
        _check_clash(module)
        frameworks.add(module)
        _loaded[module.name] = module
        _stamps[module.name] = module.stamp()
        _forget_plans()


def list_ops() -> Mapping[str, OpModule]:
    """The ops that are loaded, by name."""
    return dict(sorted(_loaded.items()))


def unload_ops(*names: str) -> None:
    """Forget ops, all if none is named; calling one is an error from then on.

    Raises
    ------
    CallError
        One is not loaded.
    """
    with _lock:
        for module in [find_op(name) for name in names or tuple(_loaded)]:
            frameworks.remove(module)
            del _loaded[module.name], _stamps[module.name]
            _forget_plans()


def reload(*names: str) -> Mapping[str, OpModule]:
    """Load again those ops, among the named or all, whose folder has changed; returns them.

    What was in use of an op is built first, so that a folder with a mistake leaves the op as it was. Whoever has made
    a graph with it keeps what it was made with.

    Raises
    ------
    CallError
        One is not loaded.
    LoadError, DefinitionError, KernelError, BuildError, CacheError
        Whatever is wrong with a changed folder. All ops then stay as they were.
    """
    changed: list[OpModule] = []
    with _lock:
        for old in [find_op(name) for name in names or tuple(_loaded)]:
            if not old.path.is_dir() or _stamps[old.name] != old.stamp():
                changed.append(_read_again(old))
        for module in changed:
            install(module)
    return {module.name: module for module in changed}


def _read_again(old: OpModule) -> OpModule:
    new = OpModule(old.name, old.path).py_api().cpp_def().py_kernel()
    new.check_files()
    if "api" in vars(old):
        _ = new.api
    if "definition" in vars(old):
        _ = new.numbers
    return new


def find_op(name: str) -> OpModule:
    """The loaded op of a name: ``relu``, or one of its op types such as ``relu_backward``.

    Raises
    ------
    CallError
        There is none; the message tells which there are.
    """
    if not isinstance(name, str):
        raise WrongType(f"the name of an op is a string, not {name!r}")
    if name in _loaded:
        return _loaded[name]
    known = name
    while known := known.rpartition("_")[0]:
        module = _loaded.get(known)
        if module is not None and (name == f"{known}_forward" or name in module.definition.ops):
            return module
    import difflib  # not above: few calls need it

    types = [f"{op}{ending}" for op in _loaded for ending in ("", "_forward", "_backward")]
    close = difflib.get_close_matches(name, types, n=1, cutoff=0.8)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    available = ", ".join(sorted(_loaded)) or "none; call pykernels.load_ops()"
    raise CallError(f"there is no op {name!r}{hint} Loaded are: {available}")


def find(*paths_given: str | Path) -> Iterator[Path]:
    """Every op folder in `paths_given`, or in the default places; each once.

    Raises
    ------
    LoadError
        A path is not there, or a given path holds no op folder.
    """
    seen: set[Path] = set()
    for given in paths_given:
        if not isinstance(given, (str, os.PathLike)):
            raise WrongType(f"ops are loaded from folders, given by their paths, not from {given!r}")
    for place, must_exist in [(Path(p), True) for p in paths_given] or _default_places():
        if not place.is_dir():
            if must_exist:
                what = "is a file, not a folder" if place.is_file() else ""
                raise LoadError(f"{place} {what}" if what else f"there is no folder {place}")
            continue
        folders = [place] if _is_op_folder(place) else sorted(f for f in place.iterdir() if _is_op_folder(f))
        if paths_given and not folders:
            raise LoadError(
                f"{place} holds no op folder: none of its folders holds a file <folder>{CPP_DEF}, <folder>{PY_DEF}, "
                f"<folder>{PY_KERNEL} or <folder>{PY_API}"
            )
        for folder in folders:
            resolved = folder.resolve()
            if resolved not in seen:
                seen.add(resolved)
                yield resolved


def _is_op_folder(path: Path) -> bool:
    # One file of the four is enough, so that a folder with a file missing is reported, not passed over.
    return any((path / f"{path.name}{part}").is_file() for part in (CPP_DEF, PY_DEF, PY_KERNEL, PY_API))


def _default_places() -> list[tuple[Path, bool]]:
    places = [(paths.OPS, True), (Path("ops"), False)]
    places += [(Path(p), True) for p in os.environ.get("PYKERNELS_PATH", "").split(os.pathsep) if p]
    return [*places, *((place, True) for place, _ in _packages())]


def _packages() -> Iterator[tuple[Path, str]]:
    """The folders of op folders of installed packages, with the names and versions of these."""
    from importlib import metadata  # not above: it takes a third of the time of importing pykernels

    for point in metadata.entry_points(group=ENTRY_POINTS):
        owner = f"{point.dist.name} {point.dist.version}" if point.dist else point.name
        spec = importlib.util.find_spec(point.module)
        if spec is None:
            raise LoadError(
                f"the installed package {owner} names a module {point.module!r} for its ops (entry point "
                f"{point.name!r}), which is not there; install it again"
            )
        locations = spec.submodule_search_locations or ([spec.origin] if spec.origin else [])
        yield from ((p if p.is_dir() else p.parent, owner) for p in map(Path, locations))


def owner_of(folder: Path) -> str:
    """The installed package, with its version, that an op folder belongs to; empty if it belongs to none."""
    if folder.parent.resolve() == paths.OPS:
        return "pykernels itself"
    with contextlib.suppress(LoadError):
        for place, owner in _packages():
            if folder.parent.resolve() == place.resolve():
                return owner
    return ""


def _forget_plans() -> None:
    global plans
    # Not cleared: a thread may be about to enter what it has found among the ops of before.
    plans = {}


def _check_clash(module: OpModule) -> None:
    known = _loaded.get(module.name)
    if known is not None and known.path.resolve() != module.path.resolve():
        raise ClashError(_clash(module.name, known.path, module.path))


def _clash(name: str, *folders: Path) -> str:
    owners = (owner_of(folder) for folder in folders)
    both = " and ".join(f"{folder} (of {owner})" if owner else f"{folder}" for folder, owner in zip(folders, owners))
    cure = f"unload the first with pykernels.unload_ops({name!r})" if name in _loaded else "load one by its path"
    return f"two folders define the op {name!r}: {both}. Rename one, uninstall its package, or {cure}"
