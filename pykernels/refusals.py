"""Errors that a framework's user meets: of our kinds, and `RuntimeError` as well, which frameworks raise."""

from __future__ import annotations

from pykernels.errors import CallError, DefinitionError, KernelError

__all__ = ["FailedKernel", "NoForwardMode", "NoGradient", "RefusedCall"]


class RefusedCall(CallError, RuntimeError):
    """An op, or what it is called in, was used wrongly."""


class NoGradient(DefinitionError, RuntimeError):
    """A gradient is asked for that the definition does not have."""


class NoForwardMode(DefinitionError, NotImplementedError):
    """A derivative in forward mode is asked for."""


class FailedKernel(KernelError, RuntimeError):
    """A kernel has failed since the framework was last waited for."""
