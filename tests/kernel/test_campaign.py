"""Kernels written by chance keep to their arrays, and give what NumPy gives; `campaign` tries more of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from campaign import findings
from campaign_hosts import HOSTS
from quick import thorough

from pykernels.frameworks.installed import is_usable


def check(folder: Path, seeds: Iterable[int], host: str = "pykernels") -> None:
    found = findings(seeds, folder, 10, host)
    assert {seed: each.wrong for seed, each in found.items() if each.wrong} == {}
    assert list(found) == list(seeds) and any(each.compared for each in found.values())


@pytest.mark.parametrize("seeds", [range(8), *thorough(range(8, 24))])
def test_kernels_by_chance(tmp_path: Path, seeds: range) -> None:
    check(tmp_path, seeds)


@pytest.mark.parametrize("host", sorted(HOSTS.keys() - {"pykernels"}))
@pytest.mark.parametrize("seeds", [range(100, 102), *thorough(range(102, 108))])
def test_kernels_by_chance_in_frameworks(tmp_path: Path, host: str, seeds: range) -> None:
    if not is_usable(host):
        pytest.skip(f"{host} is not installed")
    check(tmp_path, seeds, host)
