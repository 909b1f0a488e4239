"""A new op folder, written from the one in ``template``."""

from __future__ import annotations

import keyword
from pathlib import Path

from pykernels import paths
from pykernels.errors import LoadError
from pykernels.module import CPP_DEF, PY_API, PY_KERNEL

__all__ = ["write"]

_TEMPLATE = "my_op"
_FOLDER = Path(__file__).parent / "template" / _TEMPLATE
_PURPOSES = {
    CPP_DEF: "what the op is: inputs, outputs, attributes, shapes, gradient",
    PY_KERNEL: "what it computes, in NumPy code",
    PY_API: "the function that users call",
}


def write(name: str, folder: Path) -> dict[Path, str]:
    """Write the three files of a new op, which works as it is.

    Parameters
    ----------
    name : str
        The op's name.
    folder : Path
        The folder of op folders to make it in; made if it is not there.

    Returns
    -------
    dict of Path to str
        The files, each with what it is for.

    Raises
    ------
    LoadError
        The name is not an identifier or is taken, or the folder is there already or cannot be written.
    """
    _check_name(name)
    place = folder / name
    files = {place / f"{name}{part}": purpose for part, purpose in _PURPOSES.items()}
    try:
        place.mkdir(parents=True)
        for part, file in zip(_PURPOSES, files):
            text = (_FOLDER / f"{_TEMPLATE}{part}").read_text(encoding="utf-8")
            file.write_text(text.replace(_TEMPLATE, name), encoding="utf-8")
    except FileExistsError:
        raise LoadError(f"{place} is there already; choose another name, or remove it first") from None
    except OSError as error:
        raise LoadError(f"the op folder {place} cannot be written: {error.strerror}") from error
    return files


def _check_name(name: str) -> None:
    if not (name.isidentifier() and name.isascii()):
        hint = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
        hint = hint if hint.isidentifier() and not keyword.iskeyword(hint) else "my_op"
        raise LoadError(
            f"{name!r} cannot be the name of an op: use letters, digits and underscores, beginning with "
            f"a letter (such as {hint!r})"
        )
    if keyword.iskeyword(name):
        raise LoadError(f"{name!r} cannot be the name of an op: it is a Python keyword (try '{name}_op')")
    if (paths.OPS / name).exists():
        raise LoadError(f"pykernels ships an op {name!r} already; choose another name")
