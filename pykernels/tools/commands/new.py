"""Implement ``python -m pykernels new NAME``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pykernels.tools.new.sketch import ATTRIBUTE_TYPES, Sketch, read_attribute, sketch, sketch_function
from pykernels.tools.new.templates import KINDS
from pykernels.tools.new.writing import is_package, write_op, write_package

# The default name of a package's op.
_FIRST = "my_op"


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("new", help="write the files of a new op", description=_run.__doc__)
    parser.add_argument("name", nargs="?", metavar="NAME", help="the op's name, a Python identifier")
    parser.add_argument("--package", metavar="PACKAGE", help="write a package for pip that contains the op")
    parser.add_argument(
        "--path",
        type=Path,
        metavar="DIR",
        help="where to create the folder (ops; for a package, the current directory)",
    )
    parser.add_argument("--like", choices=KINDS, help="the kind of op (elementwise)")
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FILE",
        help="a file with the function that the op computes, such as mish(x, beta=1.0), in NumPy code",
    )
    parser.add_argument("--inputs", type=_names, default=(), metavar="X,W", help="the names of its inputs")
    parser.add_argument("--outputs", type=_names, default=(), metavar="Y,Z", help="the names of its outputs")
    parser.add_argument(
        "--attr",
        dest="attributes",
        action="append",
        metavar="NAME:TYPE=DEFAULT",
        help=f"an attribute, such as alpha:float=0.01; may be repeated. Types: {', '.join(ATTRIBUTE_TYPES)}",
    )
    parser.add_argument("--no-attr", action="store_true", help="without attributes")
    parser.add_argument("--no-grad", action="store_true", help="without a gradient")
    parser.add_argument("--python-def", action="store_true", help="with a definition in Python, in MXNet's terms")
    parser.set_defaults(run=lambda options: _run(options, parser))


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Write the folder of a new op: a small working op with a gradient and tests, for you to change."""
    attributes = None if options.attributes is None else [read_attribute(text) for text in options.attributes]
    if options.no_attr:
        attributes = []
    if options.name is None and options.source is None and options.package is None:
        parser.error("give the name of an op, or of a package with --package")
    name = options.name
    if name is None:
        name = _FIRST if options.source is None else options.source.stem
    if options.source:
        if options.like or options.inputs:
            parser.error("the function of --from decides on the inputs: leave --like and --inputs out")
        wanted = sketch_function(
            name, options.source, options.outputs, attributes or (), has_gradient=not options.no_grad
        )
        print(_found(wanted))
    else:
        kind = options.like or "elementwise"
        wanted = sketch(name, kind, options.inputs, options.outputs, attributes, has_gradient=not options.no_grad)
    folder = options.path or Path("." if options.package else "ops")
    if options.package:
        written = write_package(options.package, wanted, folder, in_python=options.python_def)
    else:
        written = write_op(wanted, folder, in_python=options.python_def)
    for file, purpose in written.items():
        print(f"wrote {file}: {purpose}")
    if options.package:
        print(_next_steps_of_package(wanted, folder / options.package))
    else:
        print(_next_steps(wanted, folder, tests=list(written)[-1]))
    return 0


def _found(op: Sketch) -> str:
    """Return the types that were found, for the author to compare with what was meant."""
    lines = [f"{each.name}: {each.type}" for each in op.inputs]
    lines += [f"-> {each.name}: {each.type}" for each in op.outputs]
    lines += [f"requires {each}" for each in op.requires]
    return "\n".join([f"{op.name} takes and returns", *(f"    {line}" for line in lines)])


def _next_steps_of_package(op: Sketch, root: Path) -> str:
    # Without the dot pip takes the name for a project on PyPI.
    place = root if root.is_absolute() else f"./{root}"
    return (
        f"\nCheck the package, and build a wheel with compiled ops:\n"
        f"    python -m pykernels check {root / root.name}\n"
        f"    python -m pykernels build --wheel {root}\n"
        f"Install it (python -m pip install {place}), and call its op:\n"
        f"    {op.call(f'{root.name}.{op.name}')}"
    )


def _next_steps(op: Sketch, folder: Path, tests: Path) -> str:
    assignment = f'{op.name} = pykernels.list_ops()["{op.name}"].api.{op.name}'
    function = f"Export its function from {folder / '__init__.py'}:\n    {assignment}\n" if is_package(folder) else ""
    place = "" if folder == Path("ops") else f'"{folder}"'
    return (
        f"\nChange the files as you need, then check the op:\n"
        f"    python -m pykernels check {folder / op.name}\n"
        f"    python -m pytest {tests}\n"
        f"{function}"
        f"Call it with NumPy arrays, or with tensors of a framework:\n"
        f'    {op.name} = pykernels.load_ops({place})["{op.name}"].api.{op.name}\n'
        f"    {op.call(op.name)}"
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))
