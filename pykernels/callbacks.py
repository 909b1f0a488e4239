"""Callbacks of the C ABIs: how they tell what went wrong, which must not leave through C frames."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

__all__ = ["answer", "write_text"]


def write_text(address: int | None, size: int, text: str) -> None:
    """Write `text` as a C string into `size` bytes at `address`, cut if it is too long."""
    if address and size:
        raw = text.encode(errors="replace").replace(b"\0", b"")[: size - 1]
        # Cut between characters, not inside one.
        raw = raw.decode(errors="ignore").encode()
        ctypes.memmove(address, raw + b"\0", len(raw) + 1)


def answer(
    act: Callable[[], object],
    error: int,
    size: int,
    *,
    told: type[Exception],
    otherwise: str,
    shorten: Callable[[str], str] = str,
) -> int:
    """Let a callback of C's do something, and return 0, or 1 with what went wrong written into `size` bytes at `error`.

    Parameters
    ----------
    told : type
        Exceptions whose text is enough.
    otherwise : str
        What the text of others begins with.
    shorten : callable, optional
        Applied to the text of `told`.
    """
    try:
        act()
    except told as problem:
        write_text(error, size, shorten(str(problem)))
        return 1
    except BaseException as problem:
        write_text(error, size, f"{otherwise}{type(problem).__name__}: {problem}")
        return 1
    return 0
