"""Functions that accumulate along an axis, in kernels that numba compiles: their values are NumPy's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared import check, example
from compiled import build, kernel_of, run

OF_A_DTYPE = ["np.cumsum(x)", "np.cumprod(x, axis=1)", "np.nancumsum(x, axis=2)", "np.nancumprod(y)"]
OF_A_DTYPE += ["np.maximum.accumulate(x, axis=1)", "np.add.accumulate(y)", "np.logical_or.accumulate(y, 0)"]
# Whatever the dtype is.
PLACES = ["np.cumsum(x, 0)", "x.cumsum(axis=-1)", "np.cumsum(y[::-1])", "np.cumsum(x, axis=1, dtype=np.float64)"]
PLACES += ["np.cumsum(x[:, :0], 1)", "np.minimum.accumulate(x)"]


@pytest.mark.parametrize(
    ("dtype", "lines"),
    [
        (np.float32, OF_A_DTYPE[:5]),
        pytest.param(np.float32, OF_A_DTYPE[5:] + PLACES, marks=pytest.mark.thorough),
        *(pytest.param(dtype, OF_A_DTYPE, marks=pytest.mark.thorough) for dtype in "?b"),
    ],
)
def test_accumulations(tmp_path: Path, dtype: Any, lines: list[str]) -> None:
    check(tmp_path, lines, [example(dtype, (4, 5, 6)), example(dtype, (50,))])


def test_accumulations_into_an_array(tmp_path: Path) -> None:
    x = example(np.float64, (4, 6))
    kernel = kernel_of(tmp_path, "def forward(args, outs):\n    np.cumsum(args[0], axis=1, out=outs[0])\n")
    made = np.zeros_like(x)
    built = build(kernel, [x], [made])
    assert built.facts.form == "whole-array", built.facts.reason
    assert run(built, [x], [made]) is None
    np.testing.assert_array_equal(made, np.cumsum(x, axis=1))
    assert run(built, [x], [made[:3].copy()]) is not None


@pytest.mark.parametrize("dtype", ["f", *(pytest.param(d, marks=pytest.mark.thorough) for d in "?B")])
def test_differences(tmp_path: Path, dtype: str) -> None:
    x, y = example(dtype, (4, 5, 6)), np.cumsum(example(dtype, (1,)))
    check(
        tmp_path,
        ["np.diff(np.flip(x, 0), axis=1)", "np.diff(x[::2], 2, 0)", "np.diff(y, 3)", "np.diff(x[..., 1], 2)"],
        [x, y],
    )


@pytest.mark.thorough
@pytest.mark.parametrize("dtypes", ["fd", "lB", "??"])
def test_differences_from_other_numbers(tmp_path: Path, dtypes: str) -> None:
    x, y = (example(dtype, (4, 5)) for dtype in dtypes)
    lines = ["np.diff(x, prepend=0, append=y)", "np.diff(x, 2, 0, prepend=y[:2])", "np.diff(y, append=y[0, 0])"]
    check(tmp_path, [*lines, "np.diff(x[0], prepend=1.5)", "np.diff(y, prepend=True)"], [x, y])
