"""The command line: ``python -m pykernels new NAME`` and ``python -m pykernels list``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import pykernels
from pykernels import discovery, paths, scaffold
from pykernels.errors import PykernelsError
from pykernels.module import OpModule

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Instead of those of the process.
    """
    options = _parser().parse_args(arguments)
    try:
        if options.command == "new":
            return _new(options.name, options.path)
        return _list(options.paths)
    except PykernelsError as error:
        print(f"pykernels: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pykernels", description=pykernels.__doc__)
    parser.add_argument("--version", action="version", version=f"pykernels {pykernels.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    new = commands.add_parser("new", help="write the three files of a new op", description=_new.__doc__)
    new.add_argument("name", metavar="NAME", help="the op's name, a Python identifier")
    new.add_argument("--path", type=Path, default=Path("ops"), metavar="DIR", help="where to make its folder (ops)")

    show = commands.add_parser("list", help="show the ops that are found", description=_list.__doc__)
    show.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="an op folder or a folder of op folders; without any, those that load_ops() loads: the shipped "
        "ops, ./ops, $PYKERNELS_PATH, and installed packages",
    )
    return parser


def _new(name: str, folder: Path) -> int:
    """Write the folder of a new op: a small one that works, to be changed."""
    files = scaffold.write(name, folder)
    for file, purpose in files.items():
        print(f"wrote {file}: {purpose}")
    place = "" if folder == Path("ops") else repr(str(folder))
    print(
        f"\nChange them to what you need, then check them:\n"
        f"    python -m pykernels list {folder / name}\n"
        f"Use the op in MXNet:\n"
        f"    pykernels.load_ops({place})\n"
        f"    y = mx.nd.Custom(x, op_type='{name}')"
    )
    return 0


def _list(given: Sequence[str]) -> int:
    """Show every op that is found: how it is called, whether it has a gradient, and where it is from."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("op", "schema", "gradient", "from")
    broken: list[str] = []
    for folder in discovery.find(*given):
        module = OpModule(folder.name, folder).py_api().cpp_def().py_kernel()
        try:
            op = module.build_load().forward
        except PykernelsError as error:
            broken.append(f"{folder.name}: {error}")
            table.add_row(module.name, Text("broken, see below", "red"), "", Text(_origin(folder)))
        else:
            gradient = "no" if op.gradient is None else "yes"
            table.add_row(module.name, Text(op.schema()), gradient, Text(_origin(folder)))
    Console().print(table)
    for message in broken:
        print(f"\npykernels: {message}", file=sys.stderr)
    return 1 if broken else 0


def _origin(folder: Path) -> str:
    if folder.parent == paths.OPS:
        return "shipped"
    here = Path.cwd().resolve()
    return str(folder.relative_to(here) if folder.is_relative_to(here) else folder)
