"""Load, find, reload and unload ops by their names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pykernels.base.errors import CallError, ClashError
from pykernels.base.refusals import WrongType
from pykernels.build import shipped
from pykernels.load import loaded, watching
from pykernels.load.folders import find
from pykernels.load.module import OpModule

__all__ = ["find_op", "list_ops", "load_ops", "reload", "unload_ops"]

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # What a program says to be the `Ops` of a stub is that to pyright, too, which goes by what a function returns.
    Ops = TypeVar("Ops", bound=Collection[str], default=Mapping[str, OpModule])


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
            raise ClashError(loaded.clash(folder.name, modules[folder.name].path, folder))
        modules[folder.name] = module
    shipped.offer(module.path.parent for module in modules.values())  # all, before the first one is entered anywhere
    with loaded.lock:
        for module in modules.values():
            loaded.check_clash(module)
        for name, module in modules.items():
            known = loaded.modules().get(name)
            if known is not None and not loaded.has_changed(known):
                modules[name] = known
            else:
                loaded.install(module)
    if watch:
        watching.watch(modules, list_ops, reload)
    return cast("Ops", modules)


def list_ops() -> Mapping[str, OpModule]:
    """The ops that are loaded, by name."""
    return dict(sorted(loaded.modules().items()))


def unload_ops(*names: str) -> None:
    """Forget ops, all if none is named; calling one is an error from then on.

    Raises
    ------
    CallError
        One is not loaded.
    """
    with loaded.lock:
        for module in [find_op(name) for name in names or list_ops()]:
            loaded.remove(module)


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
    with loaded.lock:
        for old in [find_op(name) for name in names or list_ops()]:
            if not old.path.is_dir() or loaded.has_changed(old):
                changed.append(_read_again(old))
        for module in changed:
            loaded.install(module)
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
    modules: Mapping[str, OpModule] = loaded.modules()
    if name in modules:
        return modules[name]
    known = name
    while known := known.rpartition("_")[0]:
        module = modules.get(known)
        if module is not None and (name == f"{known}_forward" or name in module.definition.ops):
            return module
    import difflib  # not above: few calls need it

    types = [f"{op}{ending}" for op in modules for ending in ("", "_forward", "_backward")]
    close = difflib.get_close_matches(name, types, n=1, cutoff=0.8)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    available = ", ".join(sorted(modules)) or "none; call pykernels.load_ops()"
    raise CallError(f"there is no op {name!r}{hint} Loaded are: {available}")
