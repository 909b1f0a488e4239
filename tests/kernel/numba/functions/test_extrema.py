"""Functions of NumPy's that have loops of our own in kernels that numba compiles: their values are NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from compared import check
from compiled import build, kernel_of, run
from quick import thorough

RNG = np.random.default_rng(5)
LONG = RNG.standard_normal(5000).astype(np.float32)
X = RNG.standard_normal((70, 90)).astype(np.float32)


def compare(folder: Path, expressions: Sequence[str], *inputs: np.ndarray, rtol: float = 0) -> None:
    """Compare what a compiled kernel that returns expressions of `x` and `y` computes with NumPy's values."""
    names = "".join(f"{name}, " for name, _ in zip("xy", inputs))
    kernel = kernel_of(folder, f"def forward(args):\n    {names}= args\n    return ({', '.join(expressions)},)\n")
    wanted = [np.asarray(each) for each in kernel.function(inputs)]
    made = [np.full(each.shape, 7, each.dtype) for each in wanted]
    built = build(kernel, inputs, made)
    assert built.facts.form == "whole-array", built.facts.reason
    assert run(built, inputs, made) is None
    for expression, one, other in zip(expressions, made, wanted):
        np.testing.assert_allclose(one, other, rtol, rtol, err_msg=f"{expression} of {inputs}")


PLACES = ("np.argmax(x)", "np.argmin(x)", "x.argmax()", "x.argmin()")


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float16, np.float32, np.float64])
def test_places_of_extrema(tmp_path: Path, dtype: type) -> None:
    few = [LONG[:n] for n in (1, 31, 32, 33, 127, 128, 129, 300, 2047, 2048, 2049, 5000)]
    many = [np.zeros(3000), np.arange(5000), np.arange(5000)[::-1], np.arange(5000) > 4500]
    for x in [*few, *many]:
        compare(tmp_path, PLACES[:2], np.ascontiguousarray(x).astype(dtype))


@pytest.mark.thorough
def test_places_of_nan_infinities_and_zeros(tmp_path: Path) -> None:
    cases = [np.array([1, np.nan, 3, np.nan]), np.array([-0.0, 0.0, -0.0]), np.array([0.0, -0.0])]
    size = np.abs(LONG)
    cases += [-size - 1, size + 1, -size[:50] - 1, size[:50] + 1, np.where(LONG > 0, 0.0, -0.0), np.minimum(LONG, 0)]
    cases += [np.array([np.inf, -np.inf, np.inf, -np.inf, 1]), np.array([-np.inf, -np.inf]), np.array([5e-324, 0, -1])]
    for at, special in ((0, np.nan), (1, -np.nan), (2100, np.nan), (4999, np.nan), (70, np.inf), (2500, -np.inf)):
        cases.append(LONG.astype(float))
        cases[-1][at] = special
        cases[-1][min(at + 40, 4999)] = special
    for x in cases:
        compare(tmp_path, PLACES[2:], x)


@pytest.mark.thorough
def test_places_of_extrema_along_axes(tmp_path: Path) -> None:
    with_nan = np.where(X > 2, np.float32(np.nan), X)
    expressions = [f"{name}{axis})" for name in ("np.argmax(x, axis=", "x.argmin(") for axis in (0, -1)]
    for x in (X, with_nan, X[:, :1].copy(), X[:1], X.astype(int), X > 2):
        compare(tmp_path, expressions, x)
    more = [line for axis in (0, -1) for line in (f"np.argmax(x, {axis}) * 2", f"np.argmin(x[:, ::2], {axis})")]
    compare(tmp_path, more, X[:, :60].copy().reshape(70, 5, 12))


@pytest.mark.thorough
@pytest.mark.parametrize("expression", ["np.argmax(x[:0])", "np.argmax(x[:, :0], axis=1)", "np.argmin(x, axis=2)"])
def test_places_that_are_not_there(tmp_path: Path, expression: str) -> None:
    kernel = kernel_of(tmp_path, f"def forward(args):\n    (x,) = args\n    return {expression}\n")
    made = np.zeros(() if ":0]" in expression and "axis" not in expression else 70, np.int64)
    message = str(run(build(kernel, [X], [made]), [X], [made]))
    assert "forward raised" in message
    assert "empty sequence" in message or "axis 2 is out of bounds" in message


@pytest.mark.thorough
def test_convolutions(tmp_path: Path) -> None:
    modes = ("", ", 'same'", ", mode='valid'")
    expressions = [f"np.{name}(x, y{mode})" for name in ("convolve", "correlate") for mode in modes]
    whole = np.arange(30) % 7
    pairs = [(LONG, LONG[:5]), (LONG[:4], LONG[:9]), (LONG[:6], LONG[:4]), (LONG[:4], LONG[2:6]), (LONG[:1], LONG[:1])]
    pairs += [(LONG[:64], LONG), (whole, whole[2:9]), (whole.astype(np.int8), LONG[:4]), (whole[:2] * 1.0, LONG[:6])]
    for x, y in pairs:
        compare(tmp_path, expressions, x, y, rtol=1e-5)


def test_a_convolution_of_nothing_is_an_error(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    return np.convolve(args[0], args[0][:0])\n")
    message = str(run(build(kernel, [LONG], [LONG.copy()]), [LONG], [LONG.copy()]))
    assert "forward raised ValueError: v cannot be empty" in message


@pytest.mark.parametrize(
    "numbers", [[1.5, 2.0, np.nan], [np.nan, np.nan], *thorough([2**63 - 1, 5], [[3], [1], [2]])], ids=str
)
@pytest.mark.filterwarnings("ignore:All-NaN:RuntimeWarning")
def test_medians(tmp_path: Path, numbers: list[float]) -> None:
    body = "y[0], y[1] = np.median(x), np.nanmedian(np.roll(x, 1))"
    kernel = kernel_of(tmp_path, f"def forward(args, outs):\n    (x,), (y,) = args, outs\n    {body}\n")
    x, y = np.array(numbers), np.empty(2)
    assert run(build(kernel, [x], [y]), [x], [y]) is None
    np.testing.assert_array_equal(y, [np.median(x), np.nanmedian(x)])


def test_functions_with_types_of_variables(tmp_path: Path) -> None:
    compare(tmp_path, ["np.transpose(np.sort(x), (1, 0))"], X)


def test_polynomials(tmp_path: Path) -> None:
    lines = ["np.polyval(y, x)", "np.polyval([1.0, 2, 3], x)", "np.polyval((2, -1), x.T)", "np.polyval(y[:0], x)"]
    lines += ["np.polyval(np.array([1, 2]), x)", "np.polyval(np.array([1.5, 2]), z)", "np.polyval(z[:2], z)"]
    check(tmp_path, lines, [X, LONG[:4], np.arange(5)], rtol=1e-6)
