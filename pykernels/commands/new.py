"""``python -m pykernels new NAME``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pykernels.scaffold.sketch import ATTRIBUTE_TYPES, KINDS, Sketch, read_attribute, sketch
from pykernels.scaffold.writing import write_op

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("new", help="write the files of a new op", description=_run.__doc__)
    parser.add_argument("name", metavar="NAME", help="the op's name, a Python identifier")
    parser.add_argument("--path", type=Path, default=Path("ops"), metavar="DIR", help="where to make its folder (ops)")
    parser.add_argument("--like", choices=KINDS, default="elementwise", help="what kind of op (elementwise)")
    parser.add_argument("--inputs", type=_names, default=(), metavar="X,W", help="the names of its inputs")
    parser.add_argument("--outputs", type=_names, default=(), metavar="Y,Z", help="the names of its outputs")
    parser.add_argument(
        "--attr",
        dest="attributes",
        action="append",
        metavar="NAME:TYPE=DEFAULT",
        help=f"an attribute, such as alpha:float=0.01; may be repeated. Types: {', '.join(ATTRIBUTE_TYPES)}",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Write the folder of a new op: a small one that works, with its gradient and tests, to be changed."""
    attributes = None if options.attributes is None else [read_attribute(text) for text in options.attributes]
    wanted = sketch(options.name, options.like, options.inputs, options.outputs, attributes)
    for file, purpose in write_op(wanted, options.path).items():
        print(f"wrote {file}: {purpose}")
    print(_next_steps(wanted, options.path))
    return 0


def _next_steps(op: Sketch, folder: Path) -> str:
    place = "" if folder == Path("ops") else repr(str(folder))
    return (
        f"\nChange them to what you need, then check them:\n"
        f"    python -m pykernels check {folder / op.name}\n"
        f"    python -m pytest {folder / f'test_{op.name}.py'}\n"
        f"Use the op in MXNet:\n"
        f"    pykernels.load_ops({place})\n"
        f"    {', '.join(op.outputs)} = mx.nd.Custom({', '.join(op.inputs)}, op_type='{op.name}')"
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))
