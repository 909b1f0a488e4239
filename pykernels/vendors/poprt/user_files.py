"""Run users' Python files for what they register."""

from __future__ import annotations

import sys
import traceback
import types
from pathlib import Path

from pykernels.base.errors import LoadError

__all__ = ["run_file", "where"]

_OURS = str(Path(__file__).parent)


def run_file(path: Path, option: str) -> None:
    """Run a file as a module that is called as the file.

    Raises
    ------
    LoadError
        There is no such file, or it raises an exception.
    """
    if not path.is_file():
        raise LoadError(f"there is no file {path} ({option})")
    name = f"{option.lstrip('-')}_{path.stem}"
    sys.modules[name] = module = types.ModuleType(name)
    module.__file__ = str(path.absolute())
    try:
        exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), vars(module))
    except Exception as error:
        raise LoadError(f"{where(error, path)} cannot be loaded: {type(error).__name__}: {error}") from error


def where(error: Exception, otherwise: Path | None = None) -> str:
    """File and line that an exception of a user's file comes from."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_OURS)]
    # What the file calls may be far away; what it says itself is its author's to see.
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else str(otherwise or "?")
