"""Define every error and warning that pykernels raises, one class for each place where something can go wrong.

Each message says what is wrong, where, and what to do about it. Each class has a code, which stays the same when
messages change, and a docstring that says when the error occurs and what helps; ``docs/errors.md`` is made of these
docstrings.

The code stands at the end of a message's first line wherever the message appears: in a traceback, on the command line,
in a framework's exception. Later lines quote others: a source excerpt or a framework's text. ``registry/host/error.h``
adds codes in C++.
"""

from __future__ import annotations

import re
from typing import ClassVar

__all__ = [
    "BuildError",
    "CacheError",
    "CallError",
    "ClashError",
    "CompileFailed",
    "DefinitionError",
    "KernelError",
    "LoadError",
    "PackageError",
    "PykernelsError",
    "PykernelsWarning",
]
_CODE = re.compile(r" \[PK\d{3}\]")


class PykernelsError(Exception):
    """Base of every error that pykernels raises.

    Catch it to catch them all. pykernels raises this class itself when something unexpected happens: a framework passes
    an array that does not match what it announced, or memory is full.

    Attributes
    ----------
    code : str
        Such as ``PK300``; it stands at the end of the message's first line.
    """

    code: ClassVar[str] = "PK000"

    def __str__(self) -> str:
        return _with_code(super().__str__(), self.code)


class LoadError(PykernelsError):
    """An op folder or a library cannot be loaded: a file is missing, does not parse, or does not execute.

    The message begins with the file, and the line if one is known. `python -m pykernels list FOLDER` shows all folders
    that cannot be loaded.
    """

    code = "PK100"


class ClashError(LoadError):
    """Two folders define an op with the same name.

    The message names both folders and the installed packages that they belong to. Rename one of them,
    uninstall one of the packages, or load the one that you want by its path.
    """

    code = "PK101"


class PackageError(LoadError):
    """A package of ops contains compiled objects that cannot be used: for other files or versions, or damaged.

    The package's author can rebuild the wheel with `python -m pykernels build --wheel`; `pip install --force-reinstall`
    repairs a damaged one. If you have a compiler, remove the folder that the message names, and the ops are compiled on
    your machine.
    """

    code = "PK102"


class DefinitionError(PykernelsError):
    """A definition is wrong: it does not compile, cannot infer, or disagrees with its kernel or gradient.

    The message begins with the file and line of the definition. `python -m pykernels list` compiles every definition
    and compares it with its kernel.
    """

    code = "PK200"


class KernelError(PykernelsError):
    """A kernel is wrong or has failed: it raised, uses a framework, or returned the wrong count, shape or dtype.

    The message names the op and the kernel's file and line. Kernels are plain NumPy code, so you can call the function
    with NumPy arrays in a debugger.
    """

    code = "PK300"


class CallError(PykernelsError, ValueError):
    """An op was called wrongly: unknown op, wrong inputs, or an unknown, missing or malformed attribute.

    The message shows what was given and what the op takes; `python -m pykernels describe OP` and `help` of a loaded op
    show the same. It is also a `ValueError`.
    """

    code = "PK400"


class BuildError(PykernelsError):
    """Something cannot be built: the compiler is missing, has failed, or cannot compile what was requested.

    `python -m pykernels doctor` tries the compilers and says what to install.
    """

    code = "PK500"


class CompileFailed(BuildError):
    """The compiler refused a source file; `output` is what it printed.

    The message includes the compiler's own. If the source is not yours, `python -m pykernels doctor` says whether the
    compiler is too old.
    """

    code = "PK501"

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message, output)
        self.output = output

    def __str__(self) -> str:
        return _with_code(f"{self.args[0]}:\n{self.output.rstrip()}", self.code)


class CacheError(PykernelsError):
    """The cache directory cannot be used: it is read-only, full, or locked by another process for too long.

    Free some space, or set `PYKERNELS_CACHE` to a writable directory; `python -m pykernels cache` shows where the cache
    is and how large.
    """

    code = "PK600"


class PykernelsWarning(UserWarning):
    """Something works, but not as intended: a kernel or a call in it runs as Python, or arguments are read by position.

    The message gives the reason; `python -m pykernels explain OP` shows what each kernel was compiled to.
    """

    code: ClassVar[str] = "PK900"

    def __str__(self) -> str:
        return _with_code(super().__str__(), self.code)


def _with_code(message: str, code: str) -> str:
    """Return the message with `code` at the end of its first line, before a colon that introduces the other lines.

    Codes of messages that this one quotes are removed: only the error that is raised says what helps.
    """
    first, newline, rest = _CODE.sub("", message).partition("\n")
    colon = ":" if first.endswith(":") else ""
    return f"{first.removesuffix(':')} [{code}]{colon}{newline}{rest}"
