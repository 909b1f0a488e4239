"""Callbacks of the C ABIs, which report exceptions instead of raising them through C frames."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from pykernels.base.errors import PykernelsError


def write_text(address: int | None, size: int, text: str) -> None:
    """Write `text` as a C string into `size` bytes at `address`, truncated if it is too long."""
    if address and size:
        raw = text.encode(errors="replace").replace(b"\0", b"")[: size - 1]
        # Cut between characters, not inside one.
        raw = raw.decode(errors="ignore").encode()
        ctypes.memmove(address, raw + b"\0", len(raw) + 1)


def text_of(problem: BaseException, otherwise: str = "") -> str:
    """Return the message of an exception with its code; `otherwise` precedes it if it is not a `PykernelsError`."""
    if isinstance(problem, PykernelsError):
        return str(problem)
    return str(PykernelsError(f"{otherwise}{type(problem).__name__}: {problem}"))


def answer(act: Callable[[], object], error: int, size: int, otherwise: str) -> int:
    """Call `act` for a C callback; return 0, or 1 after writing the error's text into `size` bytes at `error`.

    `otherwise` precedes the text of an exception that is not a `PykernelsError`.
    """
    try:
        act()
    except BaseException as problem:
        write_text(error, size, text_of(problem, otherwise))
        return 1
    return 0
