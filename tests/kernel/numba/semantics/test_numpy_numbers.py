"""Single elements of arrays are as wide in loops as they are in NumPy."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

ARITHMETIC = ("p + q", "p - q", "p * q", "p // q", "p % q", "p & q", "p | q", "p ^ q", "-p", "~p", "(+p) * q")
# Before NumPy 2, Python's numbers decide on the dtype of a single element.
if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
    ARITHMETIC += ("p << 1", "p + 1", "3 - p")
INTEGERS = ("int8", "uint8", "int32", "int64")
PAIRS = [(p, p) for p in INTEGERS] + [("int8", "uint8"), ("uint8", "int32"), ("uint64", "int64"), ("int16", "bool")]


def loop(folder: Path, expressions: tuple[str, ...], inputs: list[np.ndarray]) -> None:
    """Compare a loop over single elements with its plain run, in float64, which has room for every result."""
    text = (
        "def forward(args, outs):\n    ps, qs = args\n    for i in range(ps.shape[0]):\n        p, q = ps[i], qs[i]\n"
    )
    text += "".join(f"        outs[{at}][i] = {each}\n" for at, each in enumerate(expressions))
    kernel = kernel_of(folder, text)
    outs, expected = ([np.zeros(inputs[0].shape) for _ in expressions] for _ in range(2))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel.function(tuple(inputs), tuple(expected))
    built = build(kernel, inputs, outs)
    assert built.facts.form == "loops"
    assert run(built, inputs, outs) is None
    for out, wanted, expression in zip(outs, expected, expressions):
        np.testing.assert_array_equal(out, wanted, err_msg=expression)


@pytest.mark.thorough
@pytest.mark.parametrize(("first", "second"), PAIRS, ids="-".join)
def test_integers_wrap(tmp_path: Path, first: str, second: str) -> None:
    def numbers(dtype: str, others: list[int]) -> np.ndarray:
        limits = np.iinfo(dtype if dtype != "bool" else np.int8)
        return np.array([limits.max, limits.min, limits.max // 2 + 3, 1, 5, 0, *others], limits.dtype).astype(dtype)

    inputs = [numbers(first, [7, 100]), numbers(second, [3, 100])]
    real = {first, second} == {"uint64", "int64"}
    taken = ARITHMETIC[:5] if real else ARITHMETIC
    if first != second:
        taken = tuple(each for each in taken if "//" not in each and "%" not in each)
    loop(tmp_path, taken, inputs)


@pytest.mark.thorough
def test_integers_meet_real_numbers(tmp_path: Path) -> None:
    inputs = [np.int8([100, -7, 3]), np.float32([0.1, 1e-3, 3])]
    loop(tmp_path, ("p * q", "p + q", "p / q", "(p + p) * q"), inputs)
    loop(tmp_path, ("p * q", "p + q", "p / q"), [np.int32([100, -7, 3]), inputs[1]])


def test_truth_values_stay_such(tmp_path: Path) -> None:
    inputs = [np.array([True, True, False]), np.array([True, False, False])]
    loop(tmp_path, ("(p + q) * 1.0", "(p * q) * 1.0", "p & q", "p ^ q", "~p"), inputs)


def test_sums_in_place_wrap(tmp_path: Path) -> None:
    text = """
    def forward(args, outs):
        (x,), (y,) = args, outs
        total = x.dtype.type(0)
        for i in range(x.shape[0]):
            total += x[i]
            y[i] = total
    """
    x, out = np.int8([100, 100, -100, -128]), np.zeros(4)
    kernel = kernel_of(tmp_path, text)
    assert run(build(kernel, [x], [out]), [x], [out]) is None
    assert out.tolist() == [100, -56, 100, -28]


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
def test_fmod_of_integers(tmp_path: Path) -> None:
    x, y, out = np.int32([7, -7, 9]), np.int32([-2, 2, 4]), np.zeros(3, np.int32)
    text = "def forward(args, outs):\n    for i in range(3):\n        outs[0][i] = np.fmod(args[0][i], args[1][i])\n"
    assert run(build(kernel_of(tmp_path, text), [x, y], [out]), [x, y], [out]) is None
    assert out.tolist() == [1, -1, 1]
