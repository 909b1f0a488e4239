"""Searching sorted arrays, and distinct elements, in kernels that numba compiles: their values are NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from compared import check, example

SEARCH = ["np.searchsorted(z, x)", "np.searchsorted(z, y, side='right', sorter=np.argsort(z, kind='stable'))"]
SEARCH += ["np.searchsorted(np.arange(5), 2.5)", "np.digitize(x, np.arange(-9, 9, 3))", "z.searchsorted(y, 'right')"]
SEARCH += ["np.digitize(y, np.arange(9, -9, -3), right=True)"]
UNIQUE = ["np.unique(x)", "np.unique(y, return_index=True)[1]", "np.unique(x, False, True, True)[1]"]
UNIQUE += ["np.unique(x, return_inverse=True, return_counts=True)[2]"]


@pytest.mark.parametrize(
    ("dtype", "lines"),
    [
        ("f", SEARCH[:2] + UNIQUE[:1]),
        pytest.param("f", SEARCH[2:] + UNIQUE[1:], marks=pytest.mark.thorough),
        pytest.param("b", SEARCH[:2] + UNIQUE[:3], marks=pytest.mark.thorough),
    ],
)
def test_searching(tmp_path: Path, dtype: str, lines: Sequence[str]) -> None:
    x, y = np.round(example(dtype, (6, 5, 4)), -1), np.round(example(dtype, (50,)), -1)
    check(tmp_path, lines, [x, y, np.sort(y)])
