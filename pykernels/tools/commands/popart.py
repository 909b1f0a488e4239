"""Implement ``python -m pykernels popart``."""

from __future__ import annotations

import argparse
import shlex
from typing import Any


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "popart", help="show the compiler flags for ops in PopART's C++", description=_run.__doc__
    )
    parser.add_argument(
        "--environment",
        action="store_true",
        help="show shell commands instead, which set the variables that compilers read",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Show the flags with which a compiler finds PopART's headers and library, and build these if necessary."""
    from pykernels.vendors.popart import build  # imported here: it needs LLVM

    if options.environment:
        for name, value in build.variables().items():
            print(f'export {name}={shlex.quote(value)}"${{{name}:+:${name}}}"')
    else:
        print(shlex.join(build.flags()))
    return 0
