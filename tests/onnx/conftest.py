from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pykernels
from pykernels.base import paths

# What the shipped ops are tried on.
sys.path.append(str(Path(__file__).parent.parent / "ops"))


@pytest.fixture(scope="module")
def shipped() -> Iterator[None]:
    loaded = pykernels.load_ops(paths.OPS)
    yield
    pykernels.unload_ops(*loaded)
