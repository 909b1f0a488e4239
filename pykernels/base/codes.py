"""Write a message together with the code of its kind; ``registry/host/error.h`` does the same in C++.

The code stands behind the first line: what follows belongs to others, an excerpt of a source or a framework's own text.
"""

from __future__ import annotations

import re

__all__ = ["with_code"]

_CODE = re.compile(r" \[PK\d{3}\]")


def with_code(message: str, code: str) -> str:
    """The message with its code, the only one; before a colon that introduces the other lines.

    Those of messages that this one is made of are left out, since what helps is told by the kind that is raised.
    """
    first, newline, rest = _CODE.sub("", message).partition("\n")
    colon = ":" if first.endswith(":") else ""
    return f"{first.removesuffix(':')} [{code}]{colon}{newline}{rest}"
