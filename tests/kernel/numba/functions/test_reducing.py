"""Functions that fold arrays along axes, in kernels that numba compiles: values and dtypes are NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import build, kernel_of, run

RNG = np.random.default_rng(3)
CUBE = RNG.standard_normal((3, 37, 6)).astype(np.float32)
HOLES = np.where(RNG.random((40, 7)) < 0.2, np.nan, RNG.standard_normal((40, 7)))
HOLES[:, 3], HOLES[5] = np.nan, np.nan
BYTES = RNG.integers(-128, 128, (5, 300)).astype(np.int8)
MASK = RNG.random((3, 37, 6)) < 0.7


@pytest.fixture(autouse=True)
def _unfused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave whole kernels to numba."""
    from pykernels.kernel.numba.parts.fusing import Parts

    monkeypatch.setattr(Parts, "outlined", lambda self, function, numbers: function)


def check(
    folder: Path,
    expressions: Sequence[str],
    arrays: Mapping[str, np.ndarray],
    numbers: Mapping[str, Any] = {},
    constants: Mapping[str, Any] = {},
) -> None:
    """Compare what numba's form of a kernel returns with NumPy's values and dtypes."""
    names = {"np": np, **arrays, **numbers, **constants}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = [np.asarray(eval(expression, dict(names))) for expression in expressions]
    keywords = "".join(f", {name}" for name in (*numbers, *constants))
    lines = [f"def forward(args{', *' * bool(keywords)}{keywords}):", f"    {', '.join(arrays)}, = args"]
    lines += ["    for _ in range(1):", "        pass"]  # which leaves the kernel to numba
    lines += [f"    return {', '.join(expressions)}", ""]
    inputs, made = list(arrays.values()), [np.full(each.shape, 7, each.dtype) for each in wanted]
    kernel = kernel_of(folder, "\n".join(lines))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        built = build(kernel, inputs, made, numbers, constants)
    assert built.facts.form == "loops", built.facts.reason
    assert run(built, inputs, made, {name: numbers[name] for name, _ in built.signature.scalars}) is None
    for expression, result, expected in zip(expressions, made, wanted):
        tolerance = 2e-6 if expected.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(result, expected, tolerance, tolerance, err_msg=expression)


def test_along_axes(tmp_path: Path) -> None:
    folds = ["np.sum(x)", "x.sum(axis=1)", "x.max((0, -1))", "np.mean(x, axis=-1, keepdims=True)", "x.any(axis=0)"]
    check(tmp_path, [*folds, "np.var(x, (0, 2), ddof=1)", "x[:, 1:].min(axis=axis)"], {"x": CUBE}, {"axis": -2})


@pytest.mark.thorough
def test_dtypes(tmp_path: Path) -> None:
    folds = ["np.sum(x, 0)", "x.prod(axis=1)", "np.mean(x, 0)", "x.max()", "np.all(x, axis=1)"]
    check(tmp_path / "bool", [*folds[:2], *folds[3:]], {"x": BYTES > 50})
    check(tmp_path / "int8", folds[:2], {"x": BYTES})
    check(tmp_path / "uint64", [folds[0], "x.min(axis=0)"], {"x": BYTES.astype(np.uint64)})
    others = ["np.count_nonzero(x, axis=0)", "x.sum(axis=1, dtype=np.float32)", "np.std(x, -1)", "np.ptp(x, 1)"]
    check(tmp_path / "int32", others, {"x": BYTES.astype(np.int32)})


@pytest.mark.thorough
def test_masks_starts_and_outputs(tmp_path: Path) -> None:
    arrays = {"x": CUBE, "m": MASK, "v": MASK[0, 0].copy(), "i": BYTES}
    masked = ["np.sum(x, axis=1, where=m)", "x.max(axis=(0, 2), where=m, initial=-0.5)", "x.mean((0, 1), where=v)"]
    masked += ["np.var(x, axis=1, where=m)", "np.all(x > -2, where=v, keepdims=True)", "np.min(i, 0, initial=-3)"]
    masked += [
        "np.sum(x, 2, initial=start)",
        "x.max(x.ndim - 2, keepdims=True)",
        "np.prod(x, axis=1, out=np.empty((3, 6), np.float32))",
    ]
    check(tmp_path, masked, arrays, {"start": 2.5})


@pytest.mark.thorough
def test_nan(tmp_path: Path) -> None:
    folds = ["np.max(x, 0)", "x.min(1)", "np.nansum(x, 1)", "np.nanmean(x, 0)", "np.nanmax(x, axis=1, keepdims=True)"]
    folds += ["np.nanvar(x, 0, ddof=1)", "np.nanprod(x)", "np.nanmin(x)"]
    check(tmp_path, folds, {"x": HOLES})
    check(tmp_path / "integers", ["np.nanmax(x)", "np.nanmean(x, 1)"], {"x": BYTES})


@pytest.mark.thorough
def test_no_elements(tmp_path: Path) -> None:
    folds = ["x.sum(0)", "np.var(x, 0)", "x.max(1)", "x.max(0, initial=4)"]
    check(tmp_path, folds, {"x": CUBE[0, :0].copy()})
    kernel = kernel_of(
        tmp_path / "wrong", "def forward(args):\n    for _ in range(17):\n        y = args[0].max(0)\n    return y\n"
    )
    x, y = CUBE[0, :0].copy(), np.zeros(6, np.float32)
    built = build(kernel, [x], [y])
    assert built.facts.form == "loops"
    assert "zero-size array to reduction operation maximum" in str(run(built, [x], [y]))


@pytest.mark.thorough
def test_lengths_and_precision(tmp_path: Path) -> None:
    expressions = ["np.sum(x)", "x.max()", "x.reshape(-1, 1).sum(0)"]
    for n in (1, 8, 9, 31, 32, 33, 127, 130, 2047, 2048, 2049, 100_003):
        check(tmp_path, expressions, {"x": RNG.random(n)})
    check(tmp_path / "float32", ["np.sum(x)"], {"x": RNG.random(1 << 22, np.float32)})


@pytest.mark.thorough
def test_universal_functions(tmp_path: Path) -> None:
    folds = [
        "np.add.reduce(x, axis=(0, 1))",
        "np.maximum.reduce(x)",
        "np.bitwise_and.reduce(i, axis=None, keepdims=True)",
    ]
    folds += ["np.logical_or.reduce(i > 120, axis=1)", "np.fmin.reduce(x, 1, initial=0.25)"]
    folds += ["np.add.reduceat(x, (0, 2, 1))", "np.multiply.reduceat(i, i[:, 0] % 7, axis=1)"]
    folds += ["np.logaddexp.reduce(x)", "np.logaddexp.reduce(x[:, :0], axis=(0, 1), keepdims=True)"]
    folds += ["np.logaddexp.reduce(np.log(np.fmax(x, np.float32(0))), axis=None)"]
    folds += ["np.add(i, i, out=np.empty((5, 300), np.int8))"]
    check(tmp_path, folds, {"x": CUBE, "i": BYTES})


def test_parts_of_lines(tmp_path: Path) -> None:
    """Of one element, in backward order, of few and of many elements; along the last axis and before it."""
    parts = ["np.add.reduceat(x, (0, 3, 3, 1, 20), axis=1)", "np.add.reduceat(x.T, (1, 0, 299))"]
    parts += ["np.maximum.reduceat(x[0], np.arange(0, 300, 70))", "1 / np.add.reduceat(z, (0, 1))"]
    check(tmp_path, parts, {"x": RNG.standard_normal((4, 300)).astype(np.float32), "z": np.float32([-0.0, -0.0])})


def test_tuples_of_numbers(tmp_path: Path) -> None:
    folds = ["x * int(np.prod(x.shape[1:]))", "i * np.max((2, len(i)))", "x * float(np.sum(x.shape[:0]))"]
    check(tmp_path, folds, {"x": CUBE, "i": BYTES.astype(np.int64)})


@pytest.mark.thorough
def test_covariances(tmp_path: Path) -> None:
    lines = ["np.cov(x)", "np.cov(x[0])", "np.cov(x, x[::-1], bias=True)", "np.cov(x, rowvar=False, ddof=0)"]
    lines += ["np.cov(x[:, :1])", "np.corrcoef(x, rowvar=False)", "np.corrcoef(x[0], x[1])", "np.cov(i)"]
    check(tmp_path, lines, {"x": CUBE[0], "i": BYTES})


@pytest.mark.thorough
def test_norms(tmp_path: Path) -> None:
    norms = ["np.linalg.norm(x)", "np.linalg.norm(x, axis=1, keepdims=True)", "np.linalg.norm(x, np.inf, axis=-1)"]
    norms += ["np.linalg.norm(x, 3, axis=0)", "np.linalg.norm(x, 'fro', (0, 2))"]
    check(tmp_path, [*norms, "np.linalg.norm(i, -np.inf, keepdims=True)"], {"x": CUBE, "i": BYTES})
