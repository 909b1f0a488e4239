"""Read the file in which a collection of op folders describes itself."""

from __future__ import annotations

from pathlib import Path

from pykernels.base.errors import LoadError

__all__ = ["FILE", "read_library"]

#: The file, which a collection may do without.
FILE = "pykernels.cfg"
# Those in which PyTorch has its own ops.
_RESERVED = frozenset({"aten", "prim", "prims", "higher_order"})


def read_library(folder: Path) -> str | None:
    """The library that a collection names, as in ``[collection]`` and ``library = my_ops``.

    Parameters
    ----------
    folder : Path
        The folder of op folders.

    Returns
    -------
    str or None
        None if it names none.

    Raises
    ------
    LoadError
        The file is not written like that, or the name is not a Python identifier, or one of PyTorch's own.
    """
    file = folder / FILE
    if not file.is_file():
        return None
    import configparser  # not above: few collections have the file

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
