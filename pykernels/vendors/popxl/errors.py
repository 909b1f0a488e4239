"""PopXL's own errors."""

from __future__ import annotations

from pykernels.base.errors import CallError


class UndefinedValue(CallError):
    """A tensor does not have the requested property: the IPU that holds it."""
