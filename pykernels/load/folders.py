"""Find op folders, name their files, and find the package that owns a folder and the library of its ops."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from pykernels.base import paths
from pykernels.base.errors import LoadError
from pykernels.base.refusals import WrongType

#: The endings of an op's file names, which begin with the folder's name.
CPP_DEF, PY_DEF, PY_KERNEL, PY_API = "_cpp_def.cpp", "_py_def.py", "_py_kernel.py", "_py_api.py"
#: The entry-point group of packages that contain op folders.
ENTRY_POINTS = "pykernels.ops"
# The optional file that describes a folder of op folders.
_COLLECTION = "pykernels.cfg"
# The libraries of PyTorch's own ops.
_RESERVED = frozenset({"aten", "prim", "prims", "higher_order"})


def find(*paths_given: str | Path) -> Iterator[Path]:
    """Yield every op folder in `paths_given`, or in the default places, once.

    This raises `LoadError` if a path does not exist, or a given path contains no op folder.
    """
    seen: set[Path] = set()
    for given in paths_given:
        if not isinstance(given, (str, os.PathLike)):
            raise WrongType(f"ops are loaded from folders, given by their paths, not from {given!r}")
    for place, must_exist in [(Path(p), True) for p in paths_given] or _default_places():
        if not place.is_dir():
            if must_exist:
                is_file = place.is_file()
                raise LoadError(f"{place} is a file, not a folder" if is_file else f"folder {place} does not exist")
            continue
        folders = [place] if is_op_folder(place) else sorted(f for f in place.iterdir() if is_op_folder(f))
        if paths_given and not folders:
            raise LoadError(
                f"{place} contains no op folder: none of its folders has a file <folder>{CPP_DEF}, <folder>{PY_DEF}, "
                f"<folder>{PY_KERNEL} or <folder>{PY_API}"
            )
        for folder in folders:
            resolved = folder.resolve()
            if resolved not in seen:
                seen.add(resolved)
                yield resolved


def is_op_folder(path: Path) -> bool:
    """Whether a path is a folder with at least one of an op's files."""
    # One of the four files is enough, so that an incomplete folder is reported, not skipped.
    return any((path / f"{path.name}{part}").is_file() for part in (CPP_DEF, PY_DEF, PY_KERNEL, PY_API))


def _default_places() -> list[tuple[Path, bool]]:
    places = [(paths.OPS, True), (Path("ops"), False)]
    places += [(Path(p), True) for p in os.environ.get("PYKERNELS_PATH", "").split(os.pathsep) if p]
    return [*places, *((place, True) for place, _ in _packages())]


def _packages() -> Iterator[tuple[Path, str]]:
    """Yield the folders of op folders in installed packages, each with its package's name and version."""
    from importlib import metadata  # imported here: it takes a third of the time of importing pykernels

    for point in metadata.entry_points(group=ENTRY_POINTS):
        owner = f"{point.dist.name} {point.dist.version}" if point.dist else point.name
        spec = importlib.util.find_spec(point.module)
        if spec is None:
            raise LoadError(
                f"the installed package {owner} names a module {point.module!r} for its ops (entry point "
                f"{point.name!r}), but that module does not exist; reinstall the package"
            )
        locations = spec.submodule_search_locations or ([spec.origin] if spec.origin else [])
        yield from ((p if p.is_dir() else p.parent, owner) for p in map(Path, locations))


def owner_of(folder: Path) -> str:
    """Return the installed package, with its version, that an op folder belongs to; empty if there is none."""
    if folder.parent.resolve() == paths.OPS:
        return "pykernels itself"
    with contextlib.suppress(LoadError):
        for place, owner in _packages():
            if folder.parent.resolve() == place.resolve():
                return owner
    return ""


def read_library(folder: Path) -> str | None:
    """Return the library that a collection names with ``library = my_ops`` in the section ``[collection]``, or None.

    This raises `LoadError` if the collection's file is malformed, or the name is not a Python identifier or is reserved
    for PyTorch's own ops.
    """
    file = folder / _COLLECTION
    if not file.is_file():
        return None
    import configparser  # imported here: few collections have the file

    configuration = configparser.ConfigParser()
    try:
        configuration.read_string(file.read_text(encoding="utf-8"), str(file))
    except (configparser.Error, UnicodeDecodeError) as error:
        raise LoadError(f"{file} cannot be read: {error}") from error
    library = configuration.get("collection", "library", fallback=None)
    if library is not None and not library.isidentifier():
        raise LoadError(f"{file}: library = {library!r} is not a Python identifier; write one, such as my_ops")
    if library in _RESERVED:
        raise LoadError(f"{file}: library = {library!r} is PyTorch's own; choose another name")
    return library
