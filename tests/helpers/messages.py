"""What messages have in common, whoever raises them."""

from __future__ import annotations

import re

__all__ = ["code_of", "frames"]


def code_of(error: BaseException) -> str:
    """The one code of an error's text, which ends the line that it stands in."""
    codes = re.findall(r" \[(PK\d{3})\]:?(?:\n|$)", str(error).rstrip())
    assert len(codes) == str(error).count("[PK") == 1, str(error)
    return codes[0]


def frames(text: str) -> list[str]:
    """The files of the tracebacks in what a program has printed."""
    return re.findall(r'^ *File "(.+)", line \d+', text, re.M)
