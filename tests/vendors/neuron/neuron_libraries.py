"""Libraries of Neuron operators for the tests, each built and loaded once in a process."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import torch

from pykernels.vendors.neuron.loading import load

FOLDER = Path(__file__).parent / "sources"


@functools.cache
def surface() -> Any:
    """Operators with every type of parameter and every accessor, right and wrong."""
    load("surface", [FOLDER / "kernels.cpp"], [FOLDER / "shapes.cpp"], extra_cflags=["-DSTACK_SIZE=20000"])
    return torch.ops.surface


def line_of(file: str, text: str) -> str:
    """``file:line`` of the only line of a file of the tests that ends with a text."""
    lines = (FOLDER / file).read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if line.endswith(text)]
    return f"{FOLDER / file}:{number}: "
