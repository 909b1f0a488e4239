"""Kernels written by chance keep to their arrays, and give what NumPy gives; `campaign` tries more of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign import findings
from quick import thorough


@pytest.mark.parametrize("seed", [*range(8), *thorough(*range(8, 32))])
def test_kernels_by_chance(tmp_path: Path, seed: int) -> None:
    _, _, wrong = findings(seed, tmp_path, 10)
    assert wrong == []
