"""``python -m pykernels list``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pykernels import discovery, paths
from pykernels.commands.messages import complain, with_code
from pykernels.errors import PykernelsError
from pykernels.module import OpModule

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("list", help="show the ops that are found", description=_run.__doc__)
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="an op folder or a folder of op folders; without any, those that load_ops() loads: the shipped "
        "ops, ./ops, $PYKERNELS_PATH, and installed packages",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Show every op that is found: how it is called, whether it has a gradient, and where it is from."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("op", "schema", "gradient", "from")
    broken: list[str] = []
    for folder in discovery.find(*options.paths):
        module = OpModule(folder.name, folder).py_api().cpp_def().py_kernel()
        try:
            op = module.build_load().forward
        except PykernelsError as error:
            broken.append(f"{folder.name}: {with_code(error)}")
            table.add_row(module.name, Text("broken, see below", "red"), "", Text(_origin(folder)))
        else:
            gradient = "no" if op.gradient is None else "yes"
            table.add_row(module.name, Text(op.schema()), gradient, Text(_origin(folder)))
    Console().print(table)
    for message in broken:
        complain(message)
    return 1 if broken else 0


def _origin(folder: Path) -> str:
    if folder.parent == paths.OPS:
        return "shipped"
    owner = discovery.owner_of(folder)
    if owner:
        return owner
    here = Path.cwd().resolve()
    return str(folder.relative_to(here) if folder.is_relative_to(here) else folder)
