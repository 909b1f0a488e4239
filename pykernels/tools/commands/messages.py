"""Messages of commands on standard error."""

from __future__ import annotations

import sys

__all__ = ["complain"]


def complain(message: str) -> None:
    """Tell what is wrong: in colours at a terminal, unless ``NO_COLOR`` is set."""
    if not sys.stderr.isatty():
        print(f"pykernels: {message}", file=sys.stderr)
        return
    from rich.console import Console  # not above: it takes as long to import as the rest
    from rich.text import Text

    Console(stderr=True, soft_wrap=True).print(Text.assemble(("pykernels:", "bold red"), " ", message))
