"""Functions of NumPy's that elementwise and fused kernels have in terms of others: their values are NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run
from quick import thorough

RNG = np.random.default_rng(3)
X = RNG.standard_normal((7, 9)).astype(np.float32)
WITH_NAN = np.where(np.abs(X) > 1.2, np.float32(np.nan), X)
WITH_NAN[2] = np.nan
LONG = RNG.standard_normal(300).astype(np.float32)


def check(folder: Path, expression: str, inputs: Sequence[np.ndarray], form: str = "fused") -> None:
    """Check values, dtype and form of a kernel that returns one expression of `x` and `y`."""
    names = "".join(f"{name}, " for name, _ in zip("xy", inputs))
    kernel = kernel_of(folder, f"def forward(args):\n    {names}= args\n    return {expression}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nothing but NaN
        wanted = np.asarray(kernel.function(tuple(inputs)))
    made = np.full_like(wanted, 7)
    built = build(kernel, inputs, [made])
    assert run(built, inputs, [made]) is None
    assert built.facts.form == form, built.facts.reason
    digits = {"f2": 2e-3, "f4": 1e-5, "f8": 1e-12}.get(wanted.dtype.str[1:], 0)
    np.testing.assert_allclose(made, wanted, rtol=digits, atol=digits)


@pytest.mark.parametrize(
    "expression",
    [
        *("np.ptp(x)", "np.ptp(x, axis=0)", "x.ptp(1)", "np.ptp(x, axis=1, keepdims=True)"),
        *("np.diff(x)", "np.diff(x, axis=0)", "np.diff(x, axis=1)", "np.diff(x, 1, -1)"),
        *("np.triu(x)", "np.triu(x, 2)", "np.tril(x)", "np.tril(x, -1)", "np.tril(x * 2, k=1)"),
        *("np.linalg.norm(x)", "np.linalg.norm(x, axis=1)", "x / np.linalg.norm(x, axis=-1, keepdims=True)"),
        *("np.linalg.norm(x, 1, axis=1)", "np.linalg.norm(x, ord=np.inf, axis=0) - np.linalg.norm(x, 2, axis=0)"),
        *("np.count_nonzero(x > 0)", "np.count_nonzero(x > 0, axis=1)", "x * np.count_nonzero(x)"),
        *("np.gradient(x, axis=0)", "np.gradient(x, 0.5, axis=1) * 2"),
        *("np.nansum(x, axis=0)", "np.nanmax(x, axis=1)", "np.nanmin(x)", "np.allclose(x, x)"),
    ],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_functions_of_whole_arrays(tmp_path: Path, expression: str, dtype: type) -> None:
    if expression == "x.ptp(1)" and not hasattr(X, "ptp"):
        pytest.skip("NumPy 2 has no method ptp")
    if expression == "x * np.count_nonzero(x)" and isinstance(np.count_nonzero(X), np.integer):
        pytest.skip("np.count_nonzero gives a number of NumPy's, which makes the product an int64 or a float64")
    check(tmp_path, expression, [np.abs(4 * X).astype(dtype)])


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["nansum", "nanmax", "nanmin", "nanmean"])
def test_functions_that_pass_over_nan(tmp_path: Path, name: str) -> None:
    for arguments in ("", ", axis=0", ", axis=1", ", axis=1, keepdims=True"):
        check(tmp_path, f"np.{name}(x{arguments})", [WITH_NAN])


def test_functions_of_one_axis(tmp_path: Path) -> None:
    check(tmp_path, "np.ediff1d(x)", [LONG])
    check(tmp_path, "np.gradient(x)", [LONG])
    check(tmp_path, "np.gradient(x, 2) * x", [LONG])
    name = "trapezoid" if hasattr(np, "trapezoid") else "trapz"  # as NumPy 1 calls it
    check(tmp_path, f"np.{name}(x)", [LONG])
    check(tmp_path, f"np.{name}(x, y)", [LONG, np.sort(LONG)])
    check(tmp_path, f"np.{name}(x, dx=0.5)", [LONG])
    check(tmp_path, f"np.{name}(x, y, axis=0) + np.{name}(x, dx=2, axis=0)", [X, X[:, 0].copy()])


@pytest.mark.parametrize(
    "expression", ["np.round(x, 2)", "x.round(1)", "np.around(x, decimals=3)", "np.round(x, -1)", "np.sinc(x)"]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_elementwise_functions(tmp_path: Path, expression: str, dtype: type) -> None:
    check(tmp_path, expression, [(40 * X).astype(dtype)], "elementwise")


@pytest.mark.parametrize(
    "expression",
    [
        "x.clip(min=0)",
        *thorough(
            "np.clip(x, a_min=None, a_max=y)",
            "np.select([x > 1, x > 0], (0.5, y), default=x)",
            "np.select([x > 1], [0.5], 1.5)",
        ),
    ],
)
def test_functions_with_keywords(tmp_path: Path, expression: str) -> None:
    inputs = [X, X[0].astype(np.float64)] if "y" in expression else [X]
    check(tmp_path, expression, inputs, "elementwise")


def test_closeness(tmp_path: Path) -> None:
    special = np.array([np.inf, 1, np.inf, -np.inf, 1e9, np.nan, np.nan, 0, 3])
    other = np.array([np.inf, np.inf, -np.inf, 1, 1e9 + 1, np.nan, 1, 1e-9, 3.1])
    check(tmp_path, "np.isclose(x, y)", [special, other], "elementwise")
    check(tmp_path, "np.isclose(x, y, 0.1, equal_nan=True)", [special, other], "elementwise")
    check(tmp_path, "np.isclose(x, y)", [X, X * np.float32(1.00001)], "elementwise")
    check(tmp_path, "np.isclose(x, y)", [np.arange(9), np.arange(9) // 2 * 2], "elementwise")
    check(tmp_path, "np.allclose(x, y)", [special[:1], other[:1]])


@pytest.mark.thorough
@pytest.mark.parametrize("expression", ["np.diff(x, 2)", "np.diff(x > 0)", "np.linalg.norm(x, 1)", "np.triu(x[0])"])
def test_calls_with_other_arguments_are_left_to_other_forms(tmp_path: Path, expression: str) -> None:
    check(tmp_path, expression, [X], "whole-array")


def test_explanations_name_what_the_kernel_calls(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    return np.diff(args[0], 2)\n")
    built = build(kernel, [LONG], [LONG[2:].copy()])
    assert "op_py_kernel.py:4: a call of np.diff with these arguments" in built.facts.reason


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_scipy(tmp_path: Path, dtype: type) -> None:
    pytest.importorskip("scipy.special")
    x = (30 * RNG.standard_normal((9, 60))).astype(dtype)
    x[1], x[2, 3], x[3, 5], x[4] = -np.inf, np.inf, np.nan, 7
    p = np.linspace(-0.1, 1.1, 540, dtype=dtype).reshape(9, 60)
    p[0, :6] = 0, 1, 0.5, np.nan, 0.3, 0.65
    y = np.where(p > 0.6, p, dtype(0))
    weighted = [x[5:8], y[5:8]]  # where all weights are 0, SciPy's versions differ
    for text, inputs in [
        ("special.softmax(x, axis=-1), special.softmax(x[5:], axis=0), special.softmax(x[5:])", [x]),
        ("special.log_softmax(x, axis=1), special.log_softmax(x[5:])", [x]),
        ("special.logsumexp(x, axis=1), special.logsumexp(x[4:], axis=0, keepdims=True)", [x]),
        ("special.logsumexp(x, axis=-1, b=np.where(y > 0.9, 0, y)), special.logsumexp(x, b=y)", weighted),
        ("special.xlogy(x, y), special.xlogy(y, x), special.logit(x), special.logit(y)", [p, y]),
    ]:
        names = "".join(f"{name}, " for name, _ in zip("xy", inputs))
        kernel = kernel_of(
            tmp_path, f"from scipy import special\ndef forward(args):\n    {names}= args\n    return {text}"
        )
        with np.errstate(all="ignore"):
            wanted = kernel.function(tuple(inputs))
        made = [np.full_like(each, 7) for each in wanted]
        built = build(kernel, inputs, made)
        assert run(built, inputs, made) is None
        assert built.facts.form in ("fused", "elementwise"), built.facts.reason
        for ours, right in zip(made, wanted):
            digits = 2e-6 if dtype == np.float32 else 1e-14
            np.testing.assert_allclose(ours, right, rtol=digits, atol=digits)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_elementwise_functions_of_scipy(tmp_path: Path, dtype: type) -> None:
    special = pytest.importorskip("scipy.special")
    x = (2 * RNG.standard_normal((7, 60))).astype(dtype)
    x[:2] = np.abs(x[:2])
    x[0, :6], x[1, 0], x[1, 1] = (0, -0.0, 1, np.inf, -np.inf, np.nan), 0, 2
    y = np.roll(np.abs(x), 3, axis=1)
    texts = ["entr(x)", "rel_entr(x, y)", "kl_div(x, y)", "huber(1.25, x)", "huber(x, y)", "pseudo_huber(1.5, x)"]
    texts += ["pseudo_huber(x, y)", "ndtr(x)", "softplus(x)", "log_expit(x)", "xlog1py(x, y)"]
    found = [f"special.{text}" for text in texts if hasattr(special, text.partition("(")[0])]
    kernel = kernel_of(
        tmp_path, f"from scipy import special\ndef forward(args):\n    x, y = args\n    return {', '.join(found)}"
    )
    with np.errstate(all="ignore"):
        wanted = kernel.function((x, y))
    made = [np.full_like(each, 7) for each in wanted]
    built = build(kernel, [x, y], made)
    assert run(built, [x, y], made) is None
    assert built.facts.form == "elementwise", built.facts.reason
    for text, ours, right in zip(found, made, wanted):
        digits = 2e-6 if dtype == np.float32 else 1e-13
        np.testing.assert_allclose(ours, right, rtol=digits, atol=digits, err_msg=text)
