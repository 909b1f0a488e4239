"""Implement ``python -m pykernels stubgen``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pykernels.base.errors import LoadError
from pykernels.load.module import OpModule
from pykernels.tools import stubs
from pykernels.tools.commands import arguments


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "stubgen", help="write type stubs of ops for editors and type checkers", description=_run.__doc__
    )
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="FOLDER", help="folders of op folders (with -o, by default all ops)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write one stub for all ops (default: a file in each folder)"
    )
    parser.set_defaults(run=lambda options: _run(options, parser))


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Write type stubs: the functions of ops, with the types of their attributes and their docstrings."""
    if not (options.folders or options.output):
        parser.error("give a folder of op folders, or the file to write with -o")
    if options.output:
        _write(options.output, arguments.find_modules([str(folder) for folder in options.folders]))
        return 0
    for folder in options.folders:
        modules = arguments.find_modules([str(folder)])
        if modules[0].path == folder.resolve():
            raise LoadError(f"{folder} is an op folder; give the folder that contains it, or a file to write with -o")
        _write(folder / stubs.FILE, modules)
    return 0


def _write(file: Path, modules: Sequence[OpModule]) -> None:
    stubs.write_stubs(file, [stubs.describe_module(module) for module in modules])
    print(f"wrote {file}: {', '.join(module.name for module in modules)}")
