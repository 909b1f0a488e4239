"""``python -m pykernels new NAME``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pykernels import scaffold

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("new", help="write the three files of a new op", description=_run.__doc__)
    parser.add_argument("name", metavar="NAME", help="the op's name, a Python identifier")
    parser.add_argument("--path", type=Path, default=Path("ops"), metavar="DIR", help="where to make its folder (ops)")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Write the folder of a new op: a small one that works, to be changed."""
    name, folder = options.name, options.path
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
