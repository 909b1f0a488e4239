"""``python -m pykernels completion``."""

from __future__ import annotations

import argparse
import functools
from typing import Any

__all__ = ["SHELLS", "add"]

SHELLS = ("bash", "zsh", "tcsh")


def add(commands: Any, whole: argparse.ArgumentParser) -> None:
    """Add the command to the parser, whose commands and options it is about."""
    parser = commands.add_parser(
        "completion", help="print what lets a shell complete commands", description=_run.__doc__
    )
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=functools.partial(_run, whole))


def _run(whole: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Print a script with which a shell completes `pykernels`, its commands and their options."""
    import shtab

    print(shtab.complete(whole, options.shell))
    return 0
