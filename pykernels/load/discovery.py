"""Load, find, reload and unload ops by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pykernels.base.errors import CallError, ClashError
from pykernels.base.refusals import WrongType
from pykernels.build import shipped
from pykernels.load import loaded, watching
from pykernels.load.folders import find
from pykernels.load.module import OpModule, open_folder

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # pyright infers from the return type, so it, too, sees the `Ops` of a stub that a program annotates.
    Ops = TypeVar("Ops", bound=Collection[str], default=Mapping[str, OpModule])


def load_ops(*paths: str | Path, watch: bool = False, fuse: bool | None = None) -> Ops:  # type: ignore[type-var]
    """Load op folders: their ops become available in every supported framework that is, or will be, imported.

    This registers only names; an op's files are compiled when it is first used.

    Parameters
    ----------
    *paths : str or Path
        Op folders, or folders of op folders. Without any: the ops that ship with pykernels, ``ops`` in the current
        directory, the folders that ``$PYKERNELS_PATH`` lists, and those of installed packages (entry-point group
        ``pykernels.ops``).
    watch : bool
        Whether to reload an op whenever its folder changes, for a notebook next to an editor. If a folder cannot be
        loaded, a message on standard error says why, and the op stays as it was.
    fuse : bool, optional
        Whether the compilers of PyTorch (``torch.compile``, AOTInductor) and JAX see through these ops: they compile a
        kernel's NumPy code together with what surrounds the call. Other calls run the compiled kernel. By default, ops
        that are loaded already stay as they are, and others are not fused.

    Returns
    -------
    mapping of str to OpModule
        The ops that this call has found, by name.

    Raises
    ------
    LoadError
        A folder is missing or incomplete, a Python file does not parse, or two folders have the same name. Then nothing
        is loaded.
    """
    modules: dict[str, OpModule] = {}
    for folder in find(*paths):
        module = open_folder(folder)
        module.check_files()
        if folder.name in modules:
            raise ClashError(loaded.clash(folder.name, modules[folder.name].path, folder))
        modules[folder.name] = module
    shipped.offer(module.path.parent for module in modules.values())  # all, before the first is registered anywhere
    with loaded.lock:
        for module in modules.values():
            loaded.check_clash(module)
        for name, module in modules.items():
            known = loaded.modules.get(name)
            module.fuse = fuse if fuse is not None else known is not None and known.fuse
            if known is not None and known.fuse == module.fuse and not loaded.has_changed(known):
                modules[name] = known
            else:
                loaded.install(module)
    if watch:
        watching.watch(modules, list_ops, reload)
    return cast("Ops", modules)


def list_ops() -> Mapping[str, OpModule]:
    """Return the loaded ops by name."""
    return dict(sorted(loaded.modules.items()))


def unload_ops(*names: str) -> None:
    """Unload the named ops, or all of them; a later call of one raises an error.

    Raises
    ------
    CallError
        One is not loaded.
    """
    with loaded.lock:
        for module in [find_op(name) for name in names or list_ops()]:
            loaded.remove(module)


def reload(*names: str) -> Mapping[str, OpModule]:
    """Reload those of the named ops, or of all ops, whose folders have changed, and return them.

    The parts of an op that were in use are built first, so that a mistake in a folder leaves the op as it was. Existing
    graphs keep the version that they were built with.

    Raises
    ------
    CallError
        One is not loaded.
    LoadError, DefinitionError, KernelError, BuildError, CacheError
        Something is wrong with a changed folder. All ops then stay as they were.
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
    new = open_folder(old.path)
    new.fuse = old.fuse
    new.check_files()
    if "api" in vars(old):
        _ = new.api
    if "definition" in vars(old):
        _ = new.kernel_ids
    return new


def find_op(name: str) -> OpModule:
    """Return the loaded op with a name: ``relu``, or one of its op types such as ``relu_backward``.

    This raises `CallError` if no loaded op has the name.
    """
    if not isinstance(name, str):
        raise WrongType(f"the name of an op is a string, not {name!r}")
    modules: Mapping[str, OpModule] = loaded.modules
    if name in modules:
        return modules[name]
    known = name
    while known := known.rpartition("_")[0]:
        module = modules.get(known)
        if module is not None and (name == f"{known}_forward" or name in module.definition.ops):
            return module
    import difflib  # imported here: only errors need it

    types = [f"{op}{ending}" for op in modules for ending in ("", "_forward", "_backward")]
    close = difflib.get_close_matches(name, types, n=1, cutoff=0.8)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    available = ", ".join(sorted(modules)) or "none; call pykernels.load_ops()"
    raise CallError(f"op {name!r} is not loaded{hint} The loaded ops are: {available}")
