"""Choose the processor that kernels are compiled for: this machine's, or another one's for libraries."""

from __future__ import annotations

import contextlib
import contextvars
import platform
from collections.abc import Iterator

from pykernels.base.errors import BuildError

#: This machine's processor.
NATIVE = "native"
#: The levels of the x86-64 psABI.
LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")

_chosen: contextvars.ContextVar[str] = contextvars.ContextVar("_chosen", default=NATIVE)


def chosen() -> str:
    """Return the chosen processor: `NATIVE`, or one of `LEVELS`."""
    return _chosen.get()


def known() -> tuple[str, ...]:
    """Return the processors that this machine can compile for."""
    return (NATIVE, *LEVELS) if platform.machine() in ("x86_64", "AMD64") else (NATIVE,)


@contextlib.contextmanager
def compiling_for(cpu: str) -> Iterator[None]:
    """Compile for the processor `cpu` within the block; raise `BuildError` if this machine cannot."""
    if cpu not in known():
        raise BuildError(f"cannot compile for processor {cpu!r} on this machine; the choices are {', '.join(known())}")
    token = _chosen.set(cpu)
    try:
        yield
    finally:
        _chosen.reset(token)
