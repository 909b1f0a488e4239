"""Run users' Python files, which register passes and shape functions."""

from __future__ import annotations

import sys
import traceback
import types
from pathlib import Path

from pykernels.base.errors import LoadError

_OURS = str(Path(__file__).parent)


def run_file(path: Path, option: str) -> None:
    """Run a file as a module that is named after the file.

    Raise LoadError if the file does not exist, or raises an exception.
    """
    if not path.is_file():
        raise LoadError(f"{path} does not exist ({option})")
    name = f"{option.lstrip('-')}_{path.stem}"
    sys.modules[name] = module = types.ModuleType(name)
    module.__file__ = str(path.absolute())
    try:
        exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), vars(module))
    except Exception as error:
        raise LoadError(f"{where(error, path)} cannot be loaded: {type(error).__name__}: {error}") from error


def where(error: Exception, otherwise: Path | None = None) -> str:
    """Return the file and line in a user's file that an exception comes from."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_OURS)]
    # Show the line of the user's file itself, not one deep in what it calls.
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else str(otherwise or "?")
