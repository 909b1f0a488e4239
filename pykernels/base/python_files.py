"""Run a Python file of an op folder as a module with a unique name."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path

from pykernels.base.bytecode import codes, instructions, names
from pykernels.base.errors import LoadError

#: The name, in the namespace of a kernel file or its helper, of the file's content at the time of loading.
SOURCE = "__pykernels_source__"
# How long a file may run, in seconds.
_LONGEST = 120.0


def execute(path: Path) -> types.ModuleType:
    """Execute a Python file of an op folder as a module with a unique name.

    The file can import the files beside it by their plain names; others cannot. This raises `LoadError` if the file is
    missing, has a syntax error, raises, names ``os._exit``, or runs for more than two minutes.
    """
    try:
        source = path.read_bytes()
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}") from error
    # numba and pickle look modules up by name, so two files must never share a name.
    name = f"pykernels_op_{hashlib.sha256(str(path).encode() + b'|' + source).hexdigest()[:16]}.{path.stem}"
    module = types.ModuleType(name)
    module.__file__ = str(path)
    vars(module)[SOURCE] = source
    sys.modules[name] = module
    try:
        code = compiled(source, path)
        _check_stays(code)
        with _importable(path.parent), _limited():
            exec(code, vars(module))
    except SyntaxError as error:
        raise LoadError(f"{error.filename}:{error.lineno}: syntax error: {error.msg}") from error
    except LoadError:
        raise
    except _Endless as error:
        raise LoadError(
            f"{_line_of(error, path)}: the file ran for more than {_LONGEST:.0f} s and was stopped here"
        ) from None
    except (Exception, SystemExit) as error:  # loading an op must not end a program
        raise LoadError(f"{_line_of(error, path)}: {type(error).__name__}: {error}") from error
    return module


@functools.lru_cache(maxsize=1024)
def compiled(source: bytes, path: Path) -> types.CodeType:
    """Compile a Python file, once for both checking and executing it.

    This raises `SyntaxError` or `ValueError` if the file does not parse.
    """
    code: types.CodeType = compile(source, str(path), "exec", dont_inherit=True)
    return code


@contextlib.contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let plain imports load the files of `folder` anew, and forget these modules afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    dont_write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = dont_write
        sys.path.remove(str(folder))
        for name, module in list(sys.modules.items()):  # a copy, since other threads may import meanwhile
            file = getattr(module, "__file__", None) if name not in before and "pykernels_op_" not in name else None
            if file and Path(file).parent == folder:
                del sys.modules[name]


class _Endless(BaseException):
    """Raised in a file that runs for too long."""


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    thread, lock, is_over = threading.get_ident(), threading.Lock(), False

    def stop() -> None:
        with lock:
            if not is_over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Endless))

    timer = threading.Timer(_LONGEST, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            is_over = True
        timer.cancel()


def _line_of(error: BaseException, path: Path) -> str:
    import traceback  # imported here: few files raise

    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)


def _check_stays(file: types.CodeType) -> None:
    """Raise `LoadError` if the code of an op folder's file names ``os._exit``."""
    if "_exit" not in names(file):
        return
    for code in codes(file):
        for instruction, line in instructions(code):
            if instruction.argval == "_exit":
                raise LoadError(
                    f"{code.co_filename}:{line}: os._exit ends the process that loads or calls the op without a "
                    "message. Raise an error instead"
                )
