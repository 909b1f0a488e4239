"""Elementwise kernels give NumPy's results: for every dtype, shape and way to cut the range of elements."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run

INTEGERS = ("int8", "uint8", "int32", "int64")
REALS = ("float16", "float32", "float64")
DTYPES = (*REALS, *INTEGERS, "bool")
TOLERANCE = {"float16": 1e-3, "float32": 1e-6, "float64": 1e-14}
# More than a vector of any processor, and no multiple of one.
LENGTH = 77


def numbers_of(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    if dtype in REALS:
        return np.asarray(generator.uniform(-4, 4, shape)).astype(dtype)
    if dtype == "bool":
        return np.asarray(generator.integers(0, 2, shape)).astype(dtype)
    limits = np.iinfo(dtype)
    return np.asarray(generator.integers(limits.min, limits.max, shape, dtype, endpoint=True))


def compute(
    folder: Path, returned: str | Sequence[str], inputs: Sequence[np.ndarray], numbers: Any = None, keywords: str = ""
) -> None:
    """Check an elementwise kernel against the plain run, whose results give the shapes and dtypes of the outputs.

    Expressions of `x` and `y`, as many as one kernel may have, are the outputs of one.
    """
    if not isinstance(returned, str):
        for at in range(0, len(returned), _MOST):
            compute(folder, ", ".join(returned[at : at + _MOST]), inputs, numbers, keywords)
        return
    kernel = kernel_of(folder, kernel_text(returned, "".join(f"{name}, " for name, _ in zip("xy", inputs)), keywords))
    numbers = numbers or {}
    with np.errstate(all="ignore"):
        results = kernel.function(tuple(inputs), **numbers)
    outputs = [np.empty_like(r) for r in (results if isinstance(results, tuple) else (results,))]
    built = build(kernel, inputs, outputs, numbers)
    assert built.facts.form == "elementwise", built.facts
    assert run(built, inputs, outputs, numbers) is None
    for at, (output, expected) in enumerate(zip(outputs, plain(kernel, inputs, outputs, numbers))):
        name, tolerance = f"output {at} of {returned}", TOLERANCE.get(str(expected.dtype), 0)
        np.testing.assert_allclose(output, expected, rtol=tolerance, atol=tolerance, err_msg=name)
        zeros = expected == 0
        np.testing.assert_array_equal(np.signbit(output[zeros]), np.signbit(expected[zeros]), name)


# A kernel of more outputs takes another form.
_MOST = 24


def kernel_text(expression: str, arguments: str = "x, y", keywords: str = "") -> str:
    return f"def forward(args{keywords}):\n    {arguments} = args\n    return {expression}\n"


EXPRESSIONS = [
    *("x + y", "x * y", "x > y", "x == y", "np.maximum(x, y)", "np.minimum(x, y)", "np.where(x > y, x, y)"),
    *("x / y", "np.logical_and(x, y)", "np.logical_not(x)", "np.fmax(x, y) != y", "np.isfinite(x)", "np.abs(x)"),
    *("x * 1.5", "x * 2 + 1", "np.isnan(x / y)", "(x / y).astype(np.float32)", "np.sqrt(np.abs(x * 0.5))"),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(tmp_path: Path, dtype: str) -> None:
    inputs = [numbers_of((LENGTH,), dtype), numbers_of((LENGTH,), dtype, 1)]
    inputs[1][:5] = inputs[0][:5]
    # float16 is rounded once, at the end.
    compute(tmp_path, [each for each in EXPRESSIONS if dtype != "float16" or "/" not in each], inputs)


@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64"])
def test_arithmetic_with_special_cases(tmp_path: Path, dtype: str) -> None:
    x, y = numbers_of((LENGTH,), dtype), numbers_of((LENGTH,), dtype, 1)
    y[:9] = np.array([0, 1, 2, 3, 5, 7, 0, 1, 2]).astype(dtype)
    x[:4] = np.array([0, 0, 9, 7]).astype(dtype)
    if dtype.startswith("int"):
        x[9:13], y[9:13] = np.iinfo(dtype).min, (-1, 1, 0, 2)
    compute(tmp_path, ["x - y", "-x", "x // y", "x % y", "np.sign(x)", "np.square(x)", "np.fmod(x, y)"], [x, y])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits_and_powers_of_integers(tmp_path: Path, dtype: str) -> None:
    expressions = ["x & y", "x | y", "x ^ y", "~x", "x << (y & 7)", "x >> (y & 7)", "x ** 3"]
    compute(tmp_path, expressions, [numbers_of((LENGTH,), dtype), numbers_of((LENGTH,), dtype, 1)])


def test_truth_values(tmp_path: Path) -> None:
    expressions = ["x & y", "x | y", "x ^ y", "~x", "x + y", "x * y", "np.logical_xor(x, y)"]
    compute(tmp_path, expressions, [numbers_of((LENGTH,), "bool"), numbers_of((LENGTH,), "bool", 1)])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "pair", list(itertools.permutations(("float32", "float64", "int32", "uint8", "bool"), 2)), ids="-".join
)
def test_mixed_dtypes_promote_as_in_numpy(tmp_path: Path, pair: tuple[str, str]) -> None:
    inputs = [numbers_of((LENGTH,), dtype) for dtype in pair]
    compute(tmp_path, "x * y, x > y, np.where(x > 1, x, y), x + 1, y * 0.5", inputs)


@pytest.mark.parametrize("old", DTYPES)
def test_casts(tmp_path: Path, old: str) -> None:
    x = numbers_of((LENGTH,), old)
    news = [f"{'y' if new == 'uint8' else 'x'}.astype(np.dtype('{new}'))" for new in DTYPES]
    compute(tmp_path, news, [x, np.abs(x) if old in REALS else x])


REAL_EXPRESSIONS = [
    *("np.floor(x)", "np.ceil(x)", "np.trunc(x)", "np.rint(x)", "np.round(x)", "np.sign(x)", "np.reciprocal(x)"),
    *("np.maximum(x, y)", "np.minimum(x, y)", "np.fmax(x, y)", "np.fmin(x, y)", "np.copysign(x, y)", "np.signbit(x)"),
    *("np.heaviside(x, y)", "np.isinf(x)", "np.isnan(x)", "np.clip(x, y, 1)", "np.maximum(x, 0)", "x > y", "x != y"),
    *("x ** 2", "x ** 3", "x ** 4", "x ** 0.5", "x ** -1", "np.where(x, y, 0)", "x * y", "x / y", "x - y", "abs(x)"),
    *("np.logaddexp(x, y)", "np.hypot(x, y)", "np.arctan2(x, y)", "x ** y", "x // y", "x % y", "np.nan * x"),
    *("np.maximum(x, 0.5)", "np.minimum(x, 0)", "np.maximum(x, -0.0)", "np.minimum(x, -0.0)", "np.maximum(0, x)"),
    *("np.clip(x, -1, 1)", "np.maximum(x, np.nan)", "np.minimum(x, np.inf)", "np.fmax(x, 0.5)", "np.fmin(x, 0)"),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_values(tmp_path: Path, dtype: str) -> None:
    limits = np.finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.5, 3.5, -2.5, limits.max, -limits.max]
    special += [limits.tiny, -limits.tiny, limits.tiny / 8, -limits.tiny / 8, 1e7, -1e7]
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(*[np.array(special, dtype)] * 2))
    compute(tmp_path, REAL_EXPRESSIONS, [x, y])


@pytest.mark.parametrize("flag", [True, False])
def test_attributes_are_given_at_each_call(tmp_path: Path, flag: bool) -> None:
    expression = "x * (k if flag else -k) + alpha / (1 - alpha) * np.float32(math.exp(alpha))"
    for k, alpha in ((3, 0.25), (-2, 0.75)):
        given = {"k": k, "flag": flag, "alpha": alpha}
        compute(tmp_path, expression, [numbers_of((LENGTH,), "float32")], given, ", *, k, flag, alpha")


SHAPES = [
    [(), ()],
    [(0,), (0,)],
    [(3, 0), (1,)],
    [(1,), (1, 1)],
    [(LENGTH,), ()],
    [(5, 7), (7,)],
    [(5, 7), (5, 1)],
    [(5, 1), (1, 7)],
    [(3, 5, 7), (5, 1)],
    [(3, 1, 7, 1), (1, 5, 1, 2)],
    [(2, 3, 4, 5), (1, 3, 1, 1)],
    [(50, 1), (1, 60)],
    [(3000, 3), (3,)],
    [(3, 3000), (3, 1)],
    [(2, 2000, 3), (2000, 3)],
    [(7, 1, 300), (5, 1)],
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64", "float16"])
def test_broadcasting(tmp_path: Path, shapes: list[tuple[int, ...]], dtype: str) -> None:
    x, y = (numbers_of(shape, dtype, seed) for seed, shape in enumerate(shapes))
    compute(tmp_path, "x + y, y * x", [x, y])
    compute(tmp_path, "x + y, x * y", [y, x])


def test_outputs_of_different_shapes(tmp_path: Path) -> None:
    x, y, z = numbers_of((4, 1), "float32"), numbers_of((100,), "float32"), numbers_of((0,), "float32")
    compute(tmp_path, "x * 2, np.exp(y), x + y, x - 1", [x, y])
    compute(tmp_path, "x * 2, np.exp(y), y * 3", [z, y])
    compute(tmp_path, "x * 2, np.exp(y), y * 3", [y, z])


def test_one_machine_code_serves_all_ranks(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, kernel_text("x + y"))
    shapes = [((3,), (3,)), ((2, 3), (2, 3)), ((2, 3), (1,)), ((), ())]
    entries = set()
    for shape, other in shapes:
        x, y = np.ones(shape, np.float32), np.ones(other, np.float32)
        built = build(kernel, [x, y], [x.copy()])
        entries.add(built.struct.run)
    assert len(entries) == 1
    doubles = np.ones(3)
    assert build(kernel, [doubles, doubles], [doubles]).struct.run not in entries


@pytest.mark.parametrize("n", [1, 15, 16, 17, 100])
def test_every_cut_gives_the_same_bits(tmp_path: Path, n: int) -> None:
    kernel = kernel_of(tmp_path, kernel_text("np.tanh(x) * y + np.exp(x), x > y"))
    for y_shape in ((n,), (1,)):
        x, y = numbers_of((n,), "float32"), numbers_of(y_shape, "float32", 1)
        whole = [np.empty_like(x), np.empty(n, bool)]
        built = build(kernel, [x, y], whole)
        assert run(built, [x, y], whole) is None
        for begin in range(n):
            for end in range(begin + 1, n + 1):
                part = [np.full(n, 99, np.float32), np.full(n, True)]
                before = [p.copy() for p in part]
                run(built, [x, y], part, elements=(begin, end))
                for got, expected, untouched in zip(part, whole, before):
                    expected = np.concatenate([untouched[:begin], expected[begin:end], untouched[end:]])
                    assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("offset", [0, 1, 3])
def test_cuts_of_large_arrays(tmp_path: Path, offset: int) -> None:
    """Large outputs are written past the caches, where they are aligned."""
    n = 5_000_003
    kernel = kernel_of(tmp_path, kernel_text("1 / (1 + np.exp(-x))", "(x,)"))
    x, whole, parts = numbers_of((n,), "float32"), np.zeros(n + 4, np.float32), np.zeros(n + 4, np.float32)
    built = build(kernel, [x], [whole[:n]])
    assert run(built, [x], [whole[:n]]) is None
    cuts = [0, *np.sort(np.random.default_rng(offset).integers(0, n, 5)), n]
    view = parts[offset : offset + n]
    for begin, end in itertools.pairwise(cuts):
        assert run(built, [x], [view], elements=(int(begin), int(end))) is None
    assert view.tobytes() == whole[:n].tobytes()
    assert not parts[:offset].any() and not parts[offset + n :].any()
    assert whole[:100].tobytes() == run_small(built, x[:100]).tobytes()


def run_small(built: Any, x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    assert run(built, [x], [out]) is None
    return out


def test_cuts_where_outputs_have_different_shapes(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, kernel_text("x * 2, np.exp(y)"))
    x, y = numbers_of((7,), "float32"), numbers_of((100,), "float32")
    outputs = [np.empty_like(x), np.empty_like(y)]
    built = build(kernel, [x, y], outputs)
    for begin, end in ((3, 7), (0, 1), (1, 3)):
        assert run(built, [x, y], outputs, elements=(begin, end)) is None
    for got, expected in zip(outputs, plain(kernel, [x, y], outputs)):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_shapes_that_do_not_fit_are_reported_in_numpys_words(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, kernel_text("x + y"))
    x, y = np.ones((2, 3), np.float32), np.ones((2, 2), np.float32)
    text = run(build(kernel, [x, y], [x.copy()]), [x, y], [x.copy()])
    assert text is not None
    assert f"{tmp_path}/op_py_kernel.py:5: forward raised ValueError: operands could not be broadcast" in text
    out = np.empty(3, np.float32)
    text = run(build(kernel, [x, x], [out]), [x, x], [out])
    assert text is not None and "returned shape (2, 3) for output 'y', but the definition infers (3,)" in text


@pytest.mark.thorough
def test_a_kernel_of_very_many_tensors(tmp_path: Path) -> None:
    x = np.ones(5, np.float32)
    text = "def forward(args):\n    return args[0] + args[{}]\n"
    for n, form in ((31, "elementwise"), (32, "fused"), (64, "whole-array")):
        out = np.empty_like(x)
        built = build(kernel_of(tmp_path, text.format(n - 1)), [x] * n, [out])
        assert built.facts.form == form
        assert run(built, [x] * n, [out]) is None
        np.testing.assert_array_equal(out, 2 * x)
