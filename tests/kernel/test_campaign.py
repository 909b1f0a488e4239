"""Kernels written by chance keep to their arrays, and give what NumPy gives; `campaign` tries more of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign import findings
from campaign_hosts import HOSTS
from quick import thorough

from pykernels.frameworks.installed import is_usable


@pytest.mark.parametrize("seed", [*range(8), *thorough(*range(8, 24))])
def test_kernels_by_chance(tmp_path: Path, seed: int) -> None:
    _, _, wrong = findings(seed, tmp_path, 10)
    assert wrong == []


@pytest.mark.parametrize("host", sorted(HOSTS.keys() - {"pykernels"}))
@pytest.mark.parametrize("seed", [100, 101, *thorough(*range(102, 108))])
def test_kernels_by_chance_in_frameworks(tmp_path: Path, host: str, seed: int) -> None:
    if not is_usable(host):
        pytest.skip(f"{host} is not installed")
    _, _, wrong = findings(seed, tmp_path, 10, host)
    assert wrong == []
