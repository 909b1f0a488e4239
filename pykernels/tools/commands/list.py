"""Implement ``python -m pykernels list``."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pykernels.base import paths, progress
from pykernels.base.errors import PykernelsError
from pykernels.build.shipped import store_of
from pykernels.define.cpp_def import build_definition, only_declares
from pykernels.load.folders import CPP_DEF, owner_of
from pykernels.load.module import OpModule, open_folder
from pykernels.tools.commands import arguments
from pykernels.tools.commands.output import complain, show
from pykernels.tools.commands.processes import processors, stopping


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("list", help="list the available ops", description=_run.__doc__)
    arguments.add_ops(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """List the available ops: how to call them, whether they have gradients, and where they come from."""
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for column in ("op", "schema", "gradient", "from"):
        table.add_column(column, overflow="fold")
    broken: list[str] = []
    modules = [open_folder(folder) for folder in arguments.find_folders(options.ops)]
    _compile(modules)
    for module in modules:
        folder = module.path
        try:
            op = module.build_load().forward
        except PykernelsError as error:
            broken.append(f"{folder.name}: {error}")
            table.add_row(module.name, Text("broken, see below", "red"), "", Text(_origin(folder)))
        else:
            gradient = "no" if op.gradient is None else "yes"
            table.add_row(module.name, Text(op.schema()), gradient, Text(_origin(folder)))
    show(table)
    for message in broken:
        complain(message)
    return 1 if broken else 0


def _compile(modules: Sequence[OpModule]) -> None:
    """Compile the definitions into the cache in parallel; errors appear when the ops are loaded."""
    # Packages may ship compiled definitions.
    folders = [module.path for module in modules if store_of(module.path) is None]
    files = [folder / f"{folder.name}{CPP_DEF}" for folder in folders]
    files = [file for file in files if file.is_file()]
    pool = ThreadPoolExecutor(processors())
    with progress.bar("compiling definitions", len(files)) as bar, stopping(pool):
        # Those that only declare wait for what all share, which others compile beside their own files.
        waiting = [pool.submit(build_definition, file) for file in sorted(files, key=only_declares)]
        # Compilers leave processors idle.
        for module in modules:
            with contextlib.suppress(PykernelsError):
                _ = module.source
        for each in waiting:
            each.exception()
            bar.advance()


def _origin(folder: Path) -> str:
    return "shipped" if folder.parent == paths.OPS else owner_of(folder) or str(paths.shown(folder))
