"""Write programs that reproduce a finding."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.base.abi import AttrType
from pykernels.base.attributes import format_value
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample

__all__ = ["program", "show"]

# More numbers than anyone reads.
_MOST = 4096


def show(module: OpModule, check: str, sample: Sample | None) -> tuple[str, str]:
    """A call for reading, and the program that checks it."""
    if sample is None or sum(array.size for array in chain(*sample.inputs)) > _MOST:
        return "", program(module.path, check)
    items = list(_items(module, sample))
    call = "".join(f"    {name!r}: {value},\n" for name, value in items)
    return ", ".join(f"{name} = {value}" for name, value in items), program(module.path, check, f", [{{\n{call}}}]")


def program(folder: Path, check: str, calls: str = "") -> str:
    """A program that checks an op folder again; `calls` is the second argument of ``opcheck``, with its comma."""
    here = Path.cwd()
    shown = folder.relative_to(here) if folder.is_relative_to(here) else folder
    imports = "import numpy as np\n\n" if "np." in calls else ""
    return f"{imports}from pykernels.testing import opcheck\n\nopcheck({str(shown)!r}{calls}, checks=[{check!r}])\n"


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
    values = _values(array.tolist())
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
