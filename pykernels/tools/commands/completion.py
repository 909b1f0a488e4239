"""Implement ``python -m pykernels completion``."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterable, Iterator
from typing import Any

from pykernels.base import paths

SHELLS = ("bash", "zsh", "tcsh")


def add(commands: Any, whole: argparse.ArgumentParser) -> None:
    """Add the command to the parser `whole`, whose commands and options it completes."""
    parser = commands.add_parser("completion", help="print a completion script for a shell", description=_run.__doc__)
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}")
    parser.set_defaults(run=functools.partial(_run, whole))


def _run(whole: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Print a script with which a shell completes `pykernels`, its commands, their options, ops and files."""
    import shtab

    from pykernels.tools.check import CHECKS

    shipped = sorted(folder.name for folder in paths.OPS.iterdir() if folder.is_dir())
    # The completions of arguments by metavar.
    completed = {
        "OP": _words("ops", shipped, files=True),
        "CHECK": _words("checks", CHECKS, files=False),
        "SCRIPT": shtab.FILE,
        "FILE": shtab.FILE,
        "DIR": shtab.DIRECTORY,
    }
    for action in _actions(whole):
        if action.metavar in completed:
            action.complete = completed[action.metavar]  # type: ignore[attr-defined]
    print(shtab.complete(whole, options.shell))
    return 0


def _words(name: str, words: Iterable[str], *, files: bool) -> dict[str, Any]:
    """Return shell functions that complete one of these words, or also files."""
    function, listed = f"_pykernels_{name}", " ".join(words)
    bash = [f'compgen -W "{listed}" -- "$1"', *(['compgen -f -- "$1"'] if files else [])]
    zsh = [f"'{name}:{name}:({listed})'", *(["'files:folder:_files'"] if files else [])]
    return {
        "bash": function,
        "zsh": function,
        "tcsh": "f" if files else f"({listed})",
        "preamble": {
            "bash": f"{function}() {{ {'; '.join(bash)}; }}",
            "zsh": f"{function}() {{ _alternative {' '.join(zsh)}; }}",
        },
    }


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield all arguments and options of a parser and its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
