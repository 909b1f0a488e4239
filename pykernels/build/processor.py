"""The processor that kernels are compiled for: this machine's, or any for libraries that run elsewhere."""

from __future__ import annotations

import contextlib
import contextvars
import platform
from collections.abc import Iterator

from pykernels.base.errors import BuildError

__all__ = ["LEVELS", "NATIVE", "chosen", "compiling_for", "known"]

#: The one at hand.
NATIVE = "native"
#: The levels of the x86-64 psABI.
LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")

_chosen: contextvars.ContextVar[str] = contextvars.ContextVar("_chosen", default=NATIVE)


def chosen() -> str:
    """`NATIVE`, or one of `LEVELS`."""
    return _chosen.get()


def known() -> tuple[str, ...]:
    """Those that code can be made for here."""
    return (NATIVE, *LEVELS) if platform.machine() in ("x86_64", "AMD64") else (NATIVE,)


@contextlib.contextmanager
def compiling_for(cpu: str) -> Iterator[None]:
    """Compile for another processor in this block.

    Raises
    ------
    BuildError
        It is no processor that code can be made for here.
    """
    if cpu not in known():
        raise BuildError(f"there is no processor {cpu!r} to compile for here; the choices are {', '.join(known())}")
    token = _chosen.set(cpu)
    try:
        yield
    finally:
        _chosen.reset(token)
