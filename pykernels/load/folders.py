"""Op folders: which files they hold, where they lie, and whose they are."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from pykernels.base import paths
from pykernels.base.errors import LoadError
from pykernels.base.refusals import WrongType

__all__ = ["CPP_DEF", "ENTRY_POINTS", "PY_API", "PY_DEF", "PY_KERNEL", "find", "owner_of"]

#: What the names of an op's files have after that of its folder.
CPP_DEF, PY_DEF, PY_KERNEL, PY_API = "_cpp_def.cpp", "_py_def.py", "_py_kernel.py", "_py_api.py"
#: The entry-point group of packages that carry op folders.
ENTRY_POINTS = "pykernels.ops"


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
