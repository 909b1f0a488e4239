"""PopXL's own errors."""

from __future__ import annotations

from pykernels.base.errors import CallError

__all__ = ["UndefinedValue"]


class UndefinedValue(CallError):
    """Something of a tensor is asked for that it does not have: the IPU that it is on."""
