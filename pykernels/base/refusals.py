"""Define our errors that are also built-in errors, for callers that expect those."""

from __future__ import annotations

from pykernels.base.errors import CallError, DefinitionError, KernelError, LoadError


class RefusedCall(CallError, RuntimeError):
    """An op, or the framework that calls it, was used wrongly."""


class WrongType(CallError, TypeError):
    """An argument has the wrong type."""


class MissingName(LoadError, AttributeError):
    """A module has no such name."""


class NoGradient(DefinitionError, RuntimeError):
    """The definition does not have the requested gradient."""


class NotProvided(DefinitionError, NotImplementedError):
    """A class or definition does not have the requested method or derivative."""


class FailedKernel(KernelError, RuntimeError):
    """A kernel has failed since the caller last waited for the framework."""
