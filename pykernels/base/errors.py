"""Every error and warning that pykernels raises: a kind for each place where something can go wrong.

Each message says what is wrong, where, and what to do about it. Each kind has a code that stays the same whatever the
messages say, and a docstring, of which the page ``docs/errors.md`` is made: when it comes, and what helps.

The code stands behind the first line of a message, wherever that is read: in a traceback, on the command line, in an
exception of a framework's.
"""

from __future__ import annotations

from typing import ClassVar

from pykernels.base.codes import with_code

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


class PykernelsError(Exception):
    """Base of every error that pykernels raises.

    Catch it to catch them all. By itself it tells of what should not happen: a framework gives another array than was
    agreed, or memory is full.

    Attributes
    ----------
    code : str
        Such as ``PK300``; it stands behind the first line of the message.
    """

    code: ClassVar[str] = "PK000"

    def __str__(self) -> str:
        return with_code(super().__str__(), self.code)


class LoadError(PykernelsError):
    """An op folder or a library cannot be loaded: a file is missing, does not parse, or does not execute.

    The message begins with the file, and the line where there is one. `python -m pykernels list FOLDER` shows every
    folder that cannot be loaded at once.
    """

    code = "PK100"


class ClashError(LoadError):
    """Two folders define an op of one name.

    The message names both owners: folders, and the installed packages that they come with. Rename one of them,
    uninstall one of the packages, or load the one that you want by its path.
    """

    code = "PK101"


class PackageError(LoadError):
    """A package of ops carries compiled objects that do not fit: other files, other versions, or damaged.

    Its author builds the wheel again with `python -m pykernels build --wheel`; `pip install --force-reinstall` mends a
    damaged one. With a compiler at hand, removing the folder that the message names lets the ops be compiled here.
    """

    code = "PK102"


class DefinitionError(PykernelsError):
    """A definition is wrong: it does not compile, cannot infer, or disagrees with its kernel or gradient.

    The message begins with file and line of the definition. `python -m pykernels list` compiles every definition and
    compares it with its kernel.
    """

    code = "PK200"


class KernelError(PykernelsError):
    """A kernel is wrong or has failed: it raised, uses a framework, or returned the wrong count, shape or dtype.

    The message names the op, and file and line of the kernel. Kernels are plain NumPy code, so the function can be
    called with NumPy arrays in a debugger.
    """

    code = "PK300"


class CallError(PykernelsError, ValueError):
    """An op was called wrongly: unknown op, wrong inputs, or an unknown, missing or malformed attribute.

    The message shows what was given and what the op takes; `python -m pykernels describe OP` and `help` of a loaded op
    show the same. It is a `ValueError` as well.
    """

    code = "PK400"


class BuildError(PykernelsError):
    """Something cannot be built: there is no compiler, the compiler failed, or what is asked for cannot be compiled.

    `python -m pykernels doctor` tries the compilers and says what to install.
    """

    code = "PK500"


class CompileFailed(BuildError):
    """The compiler refused a source file; `output` is what it printed.

    The message holds the compiler's own. If the source is not yours, `python -m pykernels doctor` tells whether the
    compiler is too old.
    """

    code = "PK501"

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message, output)
        self.output = output

    def __str__(self) -> str:
        return with_code(f"{self.args[0]}:\n{self.output.rstrip()}", self.code)


class CacheError(PykernelsError):
    """The cache directory cannot be used: it is read-only, full, or locked by another process for too long.

    Make room, or set `PYKERNELS_CACHE` to a directory that can be written; `python -m pykernels cache` shows where it
    is and how large.
    """

    code = "PK600"


class PykernelsWarning(UserWarning):
    """Something works, but not as it should: a kernel that runs as Python, arguments read by position.

    The message gives the reason; `python -m pykernels explain OP` shows what each kernel was compiled to.
    """

    code: ClassVar[str] = "PK900"

    def __str__(self) -> str:
        return with_code(super().__str__(), self.code)
