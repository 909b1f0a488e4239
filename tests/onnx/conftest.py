from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pykernels
from pykernels import paths

# What the shipped ops are tried on, and op folders for tests.
sys.path += [str(Path(__file__).parent.parent / "ops"), str(Path(__file__).parent.parent / "mxnet")]

from folders import write_op


@pytest.fixture(scope="module")
def shipped() -> Iterator[None]:
    loaded = pykernels.load_ops(paths.OPS)
    yield
    pykernels.unload_ops(*loaded)


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Loads a folder with a kernel and gives the name of its op."""
    names: list[str] = []

    def load_one(kernel: str, **definition: str) -> str:
        names.append(f"op_{tmp_path.name}_{len(names)}".replace("-", "_").replace("[", "_").replace("]", "_"))
        pykernels.load_ops(write_op(tmp_path, names[-1], kernel, **definition))
        return names[-1]

    yield load_one
    pykernels.unload_ops(*names)
