"""Our errors that are built-in errors, too, for callers that expect those."""

from __future__ import annotations

from pykernels.base.errors import CallError, DefinitionError, KernelError, LoadError

__all__ = ["FailedKernel", "MissingName", "NoGradient", "NotProvided", "RefusedCall", "WrongType"]


class RefusedCall(CallError, RuntimeError):
    """An op, or what it is called in, was used wrongly."""


class WrongType(CallError, TypeError):
    """A function was given something of another type."""


class MissingName(LoadError, AttributeError):
    """A module has no such name."""


class NoGradient(DefinitionError, RuntimeError):
    """A gradient is asked for that the definition does not have."""


class NotProvided(DefinitionError, NotImplementedError):
    """A method or a derivative is asked for that a class or a definition does not have."""


class FailedKernel(KernelError, RuntimeError):
    """A kernel has failed since the framework was last waited for."""
