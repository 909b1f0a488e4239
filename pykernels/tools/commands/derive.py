"""Implement ``python -m pykernels derive OP``."""

from __future__ import annotations

import argparse
import difflib
from typing import Any

from pykernels.base import paths
from pykernels.base.errors import LoadError
from pykernels.load.module import OpModule
from pykernels.tools.commands import arguments
from pykernels.tools.commands.output import for_each
from pykernels.tools.derive import Change, derive_op


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("derive", help="derive gradients and tangents of kernels", description=_run.__doc__)
    arguments.add_ops(parser, required=True)
    parser.add_argument("--diff", action="store_true", help="show what would change, and change nothing")
    parser.add_argument(
        "--second", action="store_true", help="derive the gradient of the function backward, for second derivatives"
    )
    parser.add_argument(
        "--forward-mode", action="store_true", help="derive the function tangent, for forward-mode differentiation"
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Write derivatives of ops into their kernel files, as NumPy code, and their plans into their definitions."""

    def derive(module: OpModule) -> None:
        found = derive_op(module, second=options.second, forward_mode=options.forward_mode, replaces=options.diff)
        changes = [change for change in found if change.before != change.after]
        if not changes:
            print(f"{module.name}: the {'tangent' if options.forward_mode else 'gradient'} is up to date")
        for change in changes:
            print(_diff(change), end="") if options.diff else _write(change)

    return for_each(arguments.find_modules(options.ops), derive)


def _write(change: Change) -> None:
    try:
        change.path.write_text(change.after, encoding="utf-8")
    except OSError as error:
        raise LoadError(f"{change.path} cannot be written: {error.strerror}") from error
    print(f"wrote {paths.shown(change.path)}")


def _diff(change: Change) -> str:
    name = str(paths.shown(change.path))
    before, after = (text.splitlines(keepends=True) for text in (change.before, change.after))
    return "".join(difflib.unified_diff(before, after, name, name))
