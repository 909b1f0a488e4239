"""``python -m pykernels popart``."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "popart", help="show what compilers need for ops in PopART's C++", description=_run.__doc__
    )
    parser.add_argument(
        "--environment", action="store_true", help="show variables for a shell, which compilers read, in their place"
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Show the flags with which a compiler finds PopART's headers and library; they are built if need be."""
    from pykernels.vendors.popart import build  # not above: it needs LLVM

    if options.environment:
        for name, value in build.variables().items():
            print(f'export {name}={shlex.quote(value)}"${{{name}:+:${name}}}"')
    else:
        print(shlex.join(build.flags()))
    return 0
