"""Run the command line: ``python -m pykernels COMMAND``."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

import pykernels
from pykernels.base.errors import PykernelsError
from pykernels.tools.commands import completion
from pykernels.tools.commands.output import complain

# The exit code by which shells recognise an interrupted program.
_INTERRUPTED = 130
# The modules of the commands.
_COMMANDS = (
    "new",
    "derive",
    "list",
    "describe",
    "check",
    "explain",
    "bench",
    "warmup",
    "build",
    "stubgen",
    "cache",
    "doctor",
    "popart",
    "run",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments; by default those of the process.
    """
    _accept_every_character()
    given = sys.argv[1:] if arguments is None else arguments
    options = _parser(given).parse_args(given)
    try:
        code = int(options.run(options))
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        complain("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does. Python's own flush at exit must not fail, either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except PykernelsError as error:
        complain(str(error))
        return 1


def _accept_every_character() -> None:
    """Write characters that an output's encoding lacks as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _CommandParser(argparse.ArgumentParser):
    """A parser whose errors about unknown arguments show the usage of the command, not of the whole program."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        namespace, rest = super().parse_known_args(args, namespace)
        if rest:
            pairs = [each for each in rest if "=" in each[1:] and not each.startswith("-")]
            hint = f"; write one flag for each: --shape {pairs[0]}" if pairs and hasattr(namespace, "shapes") else ""
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return namespace, rest


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands, or of the one that `arguments` begin with: only its module is imported."""
    parser = argparse.ArgumentParser(prog="pykernels", description=pykernels.__doc__)
    parser.add_argument("--version", action="version", version=f"pykernels {pykernels.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_CommandParser)
    named = [name for name in arguments[:1] if name in _COMMANDS]
    for name in named or _COMMANDS:
        importlib.import_module(f"pykernels.tools.commands.{name}").add(commands)
    if not named:
        completion.add(commands, parser)
    return parser
