"""Options that several commands have: which ops, which dtypes, shapes and attributes, how many processes."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pykernels.base import dtypes
from pykernels.base.errors import CallError, LoadError
from pykernels.load import folders as op_folders
from pykernels.load.module import OpModule
from pykernels.tools.commands.processes import processors

__all__ = ["add_inputs", "add_jobs", "add_ops", "dtype", "find_folders", "find_modules", "whole_number"]


def add_ops(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add ``OP ...``, read into ``options.ops``, which `find_modules` takes."""
    parser.add_argument(
        "ops",
        nargs="+" if required else "*",
        metavar="OP",
        help="the name of an op, an op folder or a folder of op folders" + ("" if required else "; all without any"),
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add ``--shape`` and ``--attr``, read into dictionaries ``options.shapes`` and ``options.attributes``."""
    parser.add_argument(
        "--shape",
        dest="shapes",
        type=_shape,
        action=_Collect,
        default={},
        metavar="INPUT=N,N,...",
        help="the shape of an input; once for each: --shape x=1000,32 --shape w=32",
    )
    parser.add_argument(
        "--attr",
        dest="attributes",
        type=_pair,
        action=_Collect,
        default={},
        metavar="NAME=VALUE",
        help="the value of an attribute; once for each",
    )


def add_jobs(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--jobs``; `what` says of what there may be so many at once."""
    parser.add_argument(
        "--jobs",
        type=whole_number,
        default=processors(),
        metavar="N",
        help=f"how many {what} at once (as many as there are processors)",
    )


def whole_number(text: str) -> int:
    """A number of things, 1 or more, such as 1000 or 1e3, for argparse."""
    try:
        number = float(text)
    except ValueError:
        number = 0
    if number < 1 or number != number // 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(number)


def dtype(text: str) -> np.dtype:
    """A dtype that ops can take, for argparse."""
    try:
        dtypes.number_of(text)
    except (CallError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
    return np.dtype(text)


def find_folders(given: Sequence[str]) -> list[Path]:
    """The folders of the ops of these names and folders, or of all that `load_ops` would load.

    Raises
    ------
    LoadError
        One is not there.
    """
    known = {folder.name: folder for folder in op_folders.find()} if any(map(str.isidentifier, given)) else {}
    folders = [] if given else list(op_folders.find())
    for each in given:
        if each in known:
            folders.append(known[each])
            continue
        try:
            folders += op_folders.find(each)
        except LoadError as error:
            if not each.isidentifier() or Path(each).is_dir():
                raise
            close = difflib.get_close_matches(each, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(sorted(known))}"
            raise LoadError(f"there is no op {each!r} ({error}){hint}") from None
    return list(dict.fromkeys(folders))


def find_modules(given: Sequence[str]) -> list[OpModule]:
    """The ops of these names and folders, or all that `load_ops` would load; none is built or entered anywhere.

    Raises
    ------
    LoadError
        One is not there or incomplete.
    """
    modules = [OpModule(folder.name, folder).py_api().cpp_def().py_kernel() for folder in find_folders(given)]
    for module in modules:
        module.check_files()
    return modules


class _Collect(argparse.Action):
    """Puts (name, value) pairs into a dictionary."""

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
            f"{text!r} is not an input and its shape, such as x=1000,32; there is one --shape for each: "
            "--shape x=1000,32 --shape w=32"
        )
    return name, shape
