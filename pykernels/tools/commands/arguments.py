"""Define options of several commands: ops, dtypes, shapes, attributes, and the number of processes."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pykernels.base import dtypes
from pykernels.base.errors import CallError, LoadError
from pykernels.load import folders as op_folders
from pykernels.load.module import OpModule, open_folder
from pykernels.tools.commands.processes import processors


def add_ops(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add ``OP ...``, stored in ``options.ops`` for `find_modules`."""
    parser.add_argument(
        "ops",
        nargs="+" if required else "*",
        metavar="OP",
        help="the name of an op, an op folder or a folder of op folders" + ("" if required else " (default: all)"),
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add ``--shape`` and ``--attr``, stored in the dictionaries ``options.shapes`` and ``options.attributes``."""
    parser.add_argument(
        "--shape",
        dest="shapes",
        type=_shape,
        action=_Collect,
        default={},
        metavar="INPUT=N,N,...",
        help="the shape of an input; may be repeated: --shape x=1000,32 --shape w=32",
    )
    parser.add_argument(
        "--attr",
        dest="attributes",
        type=_pair,
        action=_Collect,
        default={},
        metavar="NAME=VALUE",
        help="the value of an attribute; may be repeated",
    )


def add_dtype(parser: argparse.ArgumentParser) -> None:
    """Add ``--dtype``."""
    parser.add_argument("--dtype", type=dtype, default=np.dtype(np.float32), help="the dtype of the inputs (float32)")


def add_dtypes(parser: argparse.ArgumentParser, default: str) -> None:
    """Add ``--dtype`` for several dtypes, stored in ``options.dtypes``; the help names the `default`."""
    parser.add_argument(
        "--dtype",
        dest="dtypes",
        type=dtype,
        nargs="+",
        action="extend",
        metavar="DTYPE",
        help=f"the dtypes of inputs ({default})",
    )


def add_jobs(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--jobs``, the number of `what`."""
    parser.add_argument(
        "--jobs",
        type=whole_number,
        default=processors(),
        metavar="N",
        help=f"the number of {what} (by default, the number of processors)",
    )


def whole_number(text: str) -> int:
    """Parse a positive integer, such as 1000 or 1e3, for argparse."""
    try:
        number = float(text)
    except ValueError:
        number = 0
    if number < 1 or number != number // 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(number)


def dtype(text: str) -> np.dtype:
    """Parse a dtype that ops can take, for argparse."""
    try:
        dtypes.number_of(text)
    except (CallError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
    return dtypes.find(text)


def find_folders(given: Sequence[str]) -> list[Path]:
    """Return the folders of the ops with these names or in these folders, or of all that `load_ops` would load.

    This raises `LoadError` for an unknown name or folder, and for what is a name and a folder.
    """
    known = {folder.name: folder for folder in op_folders.find()} if any(map(str.isidentifier, given)) else {}
    folders = [] if given else list(op_folders.find())
    for each in given:
        if each in known:
            if op_folders.is_op_folder(Path(each)) and not known[each].samefile(each):
                raise LoadError(f"{each!r} is the op in {known[each]} and a folder here: write ./{each}, or the path")
            folders.append(known[each])
            continue
        try:
            folders += op_folders.find(each)
        except LoadError as error:
            if not each.isidentifier() or Path(each).is_dir():
                raise
            close = difflib.get_close_matches(each, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; the ops are {', '.join(sorted(known))}"
            raise LoadError(f"op {each!r} does not exist ({error}){hint}") from None
    return list(dict.fromkeys(folders))


def find_modules(given: Sequence[str]) -> list[OpModule]:
    """Return the ops of `find_folders` without building them; raise `LoadError` if one is incomplete."""
    modules = [open_folder(folder) for folder in find_folders(given)]
    for module in modules:
        module.check_files()
    return modules


class _Collect(argparse.Action):
    """Collect (name, value) pairs in a dictionary."""

    def __call__(self, parser, namespace, values, option_string=None):  # type: ignore[no-untyped-def]
        name, value = values
        setattr(namespace, self.dest, {**getattr(namespace, self.dest), name: value})


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, sizes = _pair(text)
    try:
        shape = tuple(int(size) for size in sizes.replace("x", ",").split(",") if size)
    except ValueError:
        shape = (-1,)
    if any(size < 0 for size in shape):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an input and its shape, such as x=1000,32; write one --shape for each input: "
            "--shape x=1000,32 --shape w=32"
        )
    return name, shape
