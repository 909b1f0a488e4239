"""The command line: ``python -m pykernels COMMAND``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import pykernels
from pykernels.commands import (
    bench,
    build,
    cache,
    check,
    completion,
    describe,
    doctor,
    explain,
    list,
    new,
    popart,
    run,
    stubgen,
    warmup,
)
from pykernels.commands.messages import complain, with_code
from pykernels.errors import PykernelsError

__all__ = ["main"]

_COMMANDS = (new, list, describe, check, explain, bench, warmup, build, stubgen, cache, doctor, popart, run)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Instead of those of the process.
    """
    options = _parser().parse_args(arguments)
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever read it has seen enough, as `head` has; Python's own flush at the end must not fail, either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except PykernelsError as error:
        complain(with_code(error))
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pykernels", description=pykernels.__doc__)
    parser.add_argument("--version", action="version", version=f"pykernels {pykernels.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add(commands)
    completion.add(commands, parser)
    return parser
