"""Define the results of checks, and show calls and programs that reproduce an error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.base import paths
from pykernels.base.abi import AttrType
from pykernels.base.attributes import format_value
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
# Larger calls are too long to read.
_MOST = 4096


class Wrong(Exception):
    """An error in an op; `sample` is the smallest call found that shows it."""

    def __init__(self, message: str, sample: Sample | None = None) -> None:
        super().__init__(message)
        self.sample = sample


class Skipped(Exception):
    """There is nothing to check; the message says why."""


@dataclass(frozen=True)
class Result:
    """The outcome of one check of one op."""

    op: str
    check: str
    #: `PASSED`, `FAILED` or `SKIPPED`.
    outcome: str
    #: What was tried, what is wrong, or why it was skipped.
    message: str
    #: The smallest call found that shows the error, in readable form; empty if there is none.
    inputs: str = ""
    #: A program that reproduces the error; empty if there is none.
    script: str = ""
    #: How long the check took.
    seconds: float = 0.0


def describe(result: Result) -> str:
    """Return a failure with the call that shows it and the program that reproduces it."""
    lines = [f"{result.op}, {result.check}: {result.message}"]
    if result.inputs:
        lines.append(f"with {result.inputs}")
    if result.script:
        lines.append(f"To reproduce it, run this:\n\n{result.script}")
    return "\n".join(lines)


def show(module: OpModule, check: str, sample: Sample | None) -> tuple[str, str]:
    """Return a call in readable form and the program that checks it."""
    if sample is None or sum(array.size for array in chain(*sample.inputs)) > _MOST:
        return "", program(module.path, check)
    items = list(_items(module, sample))
    call = "".join(f"    {name!r}: {value},\n" for name, value in items)
    return ", ".join(f"{name} = {value}" for name, value in items), program(module.path, check, f", [{{\n{call}}}]")


def program(folder: Path, check: str, calls: str = "") -> str:
    """Return a program that checks an op folder; `calls` is the second argument of ``opcheck`` after a comma."""
    imports = "import numpy as np\n\n" if "np." in calls else ""
    call = f"opcheck({str(paths.shown(folder))!r}{calls}, checks=[{check!r}])"
    return f"{imports}from pykernels.testing import opcheck\n\n{call}\n"


def _items(module: OpModule, sample: Sample) -> Iterator[tuple[str, str]]:
    op = module.forward
    for argument, group in zip(op.inputs, sample.inputs):
        arrays = [_literal(array) for array in group]
        if group:
            yield argument.name, f"[{', '.join(arrays)}]" if argument.repeated else arrays[0]
    for attribute in op.attributes:
        value = sample.attributes[attribute.name]
        if attribute.required or value != attribute.default:
            text = format_value(attribute.type, value)
            yield attribute.name, repr(text) if attribute.type is AttrType.DTYPE else text


def _literal(array: np.ndarray) -> str:
    if array.size == 0 and array.ndim > 0:
        return f"np.empty({array.shape}, np.{_dtype(array)})"
    # In float32, 0.7 is 0.699999988079071.
    is_narrow = array.dtype.kind == "f" and array.dtype.itemsize < 8
    shown = np.reshape([float(str(value)) for value in array.ravel()], array.shape) if is_narrow else array
    values = _values(shown.tolist())
    return f"np.array({values}, np.{_dtype(array)})"


def _dtype(array: np.ndarray) -> str:
    return "bool_" if array.dtype == np.bool_ else str(array.dtype)


def _values(values: Any) -> str:
    if isinstance(values, list):
        return f"[{', '.join(map(_values, values))}]"
    if isinstance(values, float) and not np.isfinite(values):
        return f"-np.{-values}" if values < 0 else f"np.{values}"
    if isinstance(values, complex):
        return f"complex({_values(values.real)}, {_values(values.imag)})"
    return repr(values)
