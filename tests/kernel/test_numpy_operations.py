"""Divisions, shifts and signs in loops and on whole arrays: NumPy's values, at the limits of every dtype."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run
from quick import thorough

INTEGERS = ("int8", "int32", "int64", *thorough("int16", "uint8", "uint16", "uint32", "uint64"))
OF_INTEGERS = (
    *("a % b", "a // b", "np.fmod(a, b)", "np.sign(a)", "a << b", "a >> b"),
    *thorough("np.remainder(a, b)", "np.floor_divide(a, b)", "divmod(a, b)[0]", "divmod(a, b)[1]"),
)
OF_REALS = (
    *("a // b", "a % b", "np.sign(a)", "divmod(a, b)[1]"),
    *thorough("np.fmod(a, b)", "np.remainder(a, b)", "divmod(a, b)[0]", "a ** 2"),
)


def agree(folder: Path, expression: str, a: np.ndarray, b: np.ndarray) -> None:
    """In a loop, and on whole arrays beside what no other form of a kernel has."""
    bodies = {"loop": f"for i in range(len(x)):\n        a, b = x[i], w[i]\n        y[i] = {expression}"}
    if "divmod" not in expression:
        bodies["whole"] = f"a, b = np.roll(x, 1), np.roll(w, 1)\n    y[:] = {expression}"
    for name, body in bodies.items():
        text = f"def forward(args, outs):\n    (x, w), (y,) = args, outs\n    {body}\n"
        kernel, y = kernel_of(folder / name, text), np.empty_like(a)
        assert run(build(kernel, [a, b], [y]), [a, b], [y]) is None
        with np.errstate(all="ignore"):
            (expected,) = plain(kernel, [a, b], [y])
        np.testing.assert_array_equal(y, expected)
        if y.dtype.kind == "f":
            is_number = ~np.isnan(y)
            np.testing.assert_array_equal(np.signbit(y[is_number]), np.signbit(expected[is_number]))


@pytest.mark.parametrize("expression", OF_INTEGERS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(tmp_path: Path, dtype: str, expression: str) -> None:
    limits, width = np.iinfo(dtype), 8 * np.dtype(dtype).itemsize
    ends = [limits.min, limits.min + 1, 0, 1, 5, limits.max, *([-1, -5] if limits.min else [])]
    others = [0, 1, 3, width - 1, width, width + 1, limits.max, *([-1, -3, limits.min] if limits.min else [])]
    a, b = (np.ravel(each) for each in np.meshgrid(np.array(ends, dtype), np.array(others, dtype)))
    agree(tmp_path, expression, a.copy(), b.copy())


@pytest.mark.parametrize("expression", OF_REALS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real_numbers(tmp_path: Path, dtype: str, expression: str) -> None:
    numbers = [0.0, -0.0, 1.0, -1.0, 2.5, -7.0, np.inf, -np.inf, np.nan, 1e30]
    a, b = (np.ravel(each) for each in np.meshgrid(np.array(numbers, dtype), np.array(numbers, dtype)))
    agree(tmp_path, expression, a.copy(), b.copy())


@pytest.mark.parametrize(
    ("dtype", "number", "expression", "wanted"),
    [
        ("uint8", 6, "int(a) - 7", -1),
        ("uint64", 2**63 - 1, "int(a) - 7", 2**63 - 8),
        ("uint64", 2**63, "int(a) - 7", "whole numbers of more than 64 bits"),
        ("float64", -2.7, "int(a)", -2),
        ("int64", 61, "3 << int(a)", 3 << 61),
        ("int64", 62, "3 << int(a)", "raised OverflowError"),
        ("int64", 64, "3 << int(a)", "raised OverflowError"),
        ("int64", 70, "3 << int(a)", "raised OverflowError"),
        ("int64", 70, "0 << int(a)", 0),
        ("int64", 70, "-3 >> int(a)", -1),
    ],
)
def test_pythons_whole_numbers_have_64_bits_or_raise(
    tmp_path: Path, dtype: str, number: float, expression: str, wanted: int | str
) -> None:
    text = f"def forward(args, outs):\n    (x,), (y,) = args, outs\n    for a in x:\n        y[0] = {expression}\n"
    x, y = np.array([number], dtype), np.zeros(1, np.int64)
    said = run(build(kernel_of(tmp_path, text), [x], [y]), [x], [y])
    if isinstance(wanted, str):
        assert wanted in str(said)
    else:
        assert (said, y[0]) == (None, wanted)
