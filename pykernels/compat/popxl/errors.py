"""PopXL's own errors."""

from __future__ import annotations

__all__ = ["UndefinedValue"]


class UndefinedValue(Exception):
    """Something of a tensor is asked for that it does not have: the IPU that it is on."""
