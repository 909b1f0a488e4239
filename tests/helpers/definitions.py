"""Loads the C++ definitions that tests write, from a place that stays, so that later runs find them built."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from pykernels.define.cpp_def import load_cpp_def
from pykernels.define.definition import Definition, OpDef
from pykernels.define.instance import TensorSpec

INCLUDE = '#include "oneflow/core/framework/framework.h"\n'
F32, F64, I32 = np.dtype("float32"), np.dtype("float64"), np.dtype("int32")
UNKNOWN = TensorSpec(None, None)


def write(
    name: str, text: str, *, before: str = INCLUDE + "namespace oneflow {\nnamespace {\n", after: str = "}\n}\n"
) -> Path:
    """A definition file with `text` in the namespace that definitions use."""
    path = Path(os.environ["PYKERNELS_CACHE"], "definitions of the tests", name, f"{name}_cpp_def.cpp")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(before + text + after)
    return path


def load(name: str, text: str) -> Definition:
    return load_cpp_def(write(name, text))


def spec(*shape: int, dtype: np.dtype = F32) -> TensorSpec:
    return TensorSpec(shape, dtype)


def infer(op: OpDef, *inputs: TensorSpec, **attributes: object) -> list[list[TensorSpec]]:
    """Infer an op each of whose inputs is one tensor."""
    return op.infer([[one] for one in inputs], op.parse_attributes(attributes))


def line_of(path: Path | str, text: str) -> int:
    """The line of a file that holds `text`."""
    lines = [number for number, line in enumerate(Path(path).read_text().splitlines(), 1) if text in line]
    assert len(lines) == 1, lines
    return lines[0]
