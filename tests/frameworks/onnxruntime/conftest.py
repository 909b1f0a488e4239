from __future__ import annotations

from collections.abc import Iterator

import pytest

import pykernels
from pykernels.base import paths


@pytest.fixture(scope="module")
def shipped() -> Iterator[None]:
    loaded = pykernels.load_ops(paths.OPS)
    yield
    pykernels.unload_ops(*loaded)
