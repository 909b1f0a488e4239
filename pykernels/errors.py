"""Every error and warning that pykernels raises.

Each message says what is wrong, where, and what to do about it.
"""

from __future__ import annotations

__all__ = [
    "BuildError",
    "CacheError",
    "CallError",
    "CompileFailed",
    "DefinitionError",
    "KernelError",
    "LoadError",
    "PykernelsError",
    "PykernelsWarning",
]


class PykernelsError(Exception):
    """Base of every error that pykernels raises."""


class LoadError(PykernelsError):
    """An op folder or a library cannot be loaded: a file is missing, does not parse, or clashes with another one."""


class DefinitionError(PykernelsError):
    """A definition is wrong: it does not compile, cannot infer, or disagrees with its kernel or gradient."""


class KernelError(PykernelsError):
    """A kernel is wrong or has failed: it raised, or returned the wrong count, shape or dtype."""


class CallError(PykernelsError, ValueError):
    """An op was called wrongly: unknown op, wrong inputs, or an unknown, missing or malformed attribute."""


class BuildError(PykernelsError):
    """Something cannot be built: there is no compiler, or the compiler failed."""


class CompileFailed(BuildError):
    """The compiler refused a source file; `output` is what it printed."""

    def __init__(self, message: str, *, output: str) -> None:
        super().__init__(f"{message}:\n{output.rstrip()}")
        self.output = output


class CacheError(PykernelsError):
    """The cache directory cannot be used: it is read-only, full, or locked by another process for too long."""


class PykernelsWarning(UserWarning):
    """Something works, but not as it should: a kernel that runs as Python, arguments read by position."""
