"""Medians and quantiles in kernels that numba compiles: their values are NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from compared import check, example

QUICK = ["np.median(x)", "np.nanmedian(x, axis=(0, -1), keepdims=True)", "np.quantile(x, (0.25, 0.7), axis=1)"]
MORE = ["np.nanquantile(x, z, axis=(0, 1))", "np.nanpercentile(x, 45, axis=-1, keepdims=True)", "np.quantile(y, 0.3)"]
METHODS = [f"np.quantile(y, z, method='{method}')" for method in ("lower", "higher", "midpoint", "nearest")]


@pytest.mark.parametrize(
    ("dtype", "lines"),
    [
        ("f", QUICK),
        pytest.param("f", MORE, marks=pytest.mark.thorough),
        pytest.param("b", [*METHODS, "np.median(y[::3])", "np.median(x, 1)"], marks=pytest.mark.thorough),
    ],
)
def test_quantiles(tmp_path: Path, dtype: str, lines: Sequence[str]) -> None:
    x, y, z = example(dtype, (6, 5, 4)), np.arange(80).astype(dtype) % 13, np.array([0.1, 0.5, 1.0])
    check(tmp_path, lines, [x, y, z], rtol=1e-5)


@pytest.mark.thorough
def test_many_short_lines(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((3, 1100))
    x[1, 600] = np.nan
    check(tmp_path, ["np.median(x, 0)", "np.quantile(x.T, (0.3, 0.9), axis=1)", "np.median(x[:1], 0)"], [x], rtol=1e-12)
