"""Divisions, shifts and signs in loops and on whole arrays: NumPy's values, at the limits of every dtype."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run
from quick import thorough

from pykernels.base.errors import PykernelsWarning

OF_INTEGERS = (
    "a % b",
    "a // b",
    "np.fmod(a, b)",
    "np.remainder(a, b)",
    "np.floor_divide(a, b)",
    "np.sign(a)",
    "a << b",
    "a >> b",
)
OF_REALS = ("a % b", "a // b", "np.fmod(a, b)", "np.remainder(a, b)", "np.sign(a)", "a ** 2", "a ** 0.5", "a ** 1.5")
OF_REALS += ("np.nextafter(a, b)", "np.spacing(a)", "np.ldexp(a, 3)")
IN_LOOPS = ("divmod(a, b)[0]", "divmod(a, b)[1]")


def agree(folder: Path, expressions: Sequence[str], a: np.ndarray, b: np.ndarray) -> None:
    """In a loop, and on whole arrays beside what no other form of a kernel has; each expression gives a row."""
    in_loops = (*expressions, *IN_LOOPS)
    loop = ["for i in range(len(x)):", "    a, b = x[i], w[i]"]
    loop += [f"    y[{row}, i] = {expression}" for row, expression in enumerate(in_loops)]
    whole = ["a, b = np.roll(x, 1), np.roll(w, 1)"]
    whole += [f"y[{row}] = {expression}" for row, expression in enumerate(expressions)]
    for name, lines, shown in (("loop", loop, in_loops), ("whole", whole, expressions)):
        text = "def forward(args, outs):\n    (x, w), (y,) = args, outs\n" + "".join(f"    {line}\n" for line in lines)
        kernel, y = kernel_of(folder / name, text), np.empty((len(shown), len(a)), a.dtype)
        assert run(build(kernel, [a, b], [y]), [a, b], [y]) is None
        with np.errstate(all="ignore"):
            (expected,) = plain(kernel, [a, b], [y])
        for expression, ours, right in zip(shown, y, expected):
            np.testing.assert_array_equal(ours, right, expression)
            if y.dtype.kind == "f":
                is_number = ~np.isnan(ours)
                np.testing.assert_array_equal(np.signbit(ours[is_number]), np.signbit(right[is_number]), expression)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64", *thorough("int16", "int32", "uint8", "uint16", "uint32")])
def test_integers(tmp_path: Path, dtype: str) -> None:
    limits, width = np.iinfo(dtype), 8 * np.dtype(dtype).itemsize
    ends = [limits.min, limits.min + 1, 0, 1, 5, limits.max, *([-1, -5] if limits.min else [])]
    others = [0, 1, 3, width - 1, width, width + 1, limits.max, *([-1, -3, limits.min] if limits.min else [])]
    a, b = (np.ravel(each) for each in np.meshgrid(np.array(ends, dtype), np.array(others, dtype)))
    agree(tmp_path, OF_INTEGERS, a.copy(), b.copy())


@pytest.mark.parametrize("dtype", ["float32", *thorough("float64")])
def test_real_numbers(tmp_path: Path, dtype: str) -> None:
    numbers = [0.0, -0.0, 1.0, -1.0, 2.5, -7.0, np.inf, -np.inf, np.nan, 1e30]
    a, b = (np.ravel(each) for each in np.meshgrid(np.array(numbers, dtype), np.array(numbers, dtype)))
    agree(tmp_path, OF_REALS, a.copy(), b.copy())


@pytest.mark.parametrize(
    ("dtype", "number", "expression", "wanted"),
    [
        ("uint8", 6, "int(a) - 7", -1),
        ("uint64", 2**63 - 1, "int(a) - 7", 2**63 - 8),
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


def test_python_computes_with_whole_numbers_of_more_than_64_bits(tmp_path: Path) -> None:
    text = "def forward(args, outs):\n    (x,), (y,) = args, outs\n    for a in x:\n        y[0] = int(a) - 7\n"
    x, y = np.array([2**63], np.uint64), np.zeros(1, np.int64)
    built = build(kernel_of(tmp_path, text), [x], [y])
    with pytest.warns(PykernelsWarning, match="whole numbers of more than 64 bits"):
        assert run(built, [x], [y]) is None
    assert y[0] == 2**63 - 7


def test_whole_numbers_and_float32_are_combined_in_float64(tmp_path: Path) -> None:
    text = """
        def forward(args):
            x, w = args
            for _ in range(1):
                pass
            return x + w, np.arctan2(w, x), (x * w).sum(axis=1), w > x, x[0] - w[:, :1] * x
    """
    kernel = kernel_of(tmp_path, text)
    inputs = [np.float32([[0.1, 16777216.0], [3, -7]]), np.array([[7, 16777217], [1, 2]])]
    wanted = kernel.function(tuple(inputs))
    made = [np.zeros_like(each) for each in wanted]
    built = build(kernel, inputs, made)
    assert built.facts.form == "loops"
    assert run(built, inputs, made) is None
    assert [each.dtype for each in made] == ["float64", "float64", "float64", "bool", "float64"]
    for each, other in zip(made, wanted):
        np.testing.assert_allclose(each, other, rtol=1e-15)
