"""Functions that order elements, in kernels that numba compiles: their values are NumPy's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared import check, example
from compiled import build, kernel_of, plain, run

from pykernels.build import processor
from pykernels.kernel import numpy_sorting

# Without AVX2, and without AVX-512.
_LEVELS = [level for level in ("x86-64-v2", "x86-64-v3") if level in processor.known()]


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.int64, marks=pytest.mark.thorough)])
def test_sorting(tmp_path: Path, dtype: type) -> None:
    x, y = example(dtype, (3, 40, 5)), example(dtype, (1000,))
    lines = [
        "np.sort(x)",
        "np.sort(x, 0)",
        "np.sort(x, axis=-2, kind='stable')",
        "np.sort(x, None)",
        "np.sort(y[::-2])",
    ]
    lines += ["np.argsort(x, -2, 'stable')", "np.argsort(y, kind='mergesort')", "x.argsort(axis=None, kind='stable')"]
    lines += ["np.sort(x[:0])", "np.lexsort((y, y[::-1] > 0, y > 0))", "np.argsort(y * 2, kind='stable')[..., :3]"]
    check(tmp_path, lines, [x, y])


def _lines(dtype: Any) -> list[np.ndarray]:
    """Return arrays of all lengths that are ordered in another way, and of orders that are hard to sort."""
    rng, is_float = np.random.default_rng(0), np.dtype(dtype).kind == "f"
    around = (rows << k for k in range(5, 10) for rows in (4, 6))  # what a network sorts at once
    sizes = [*range(1, 71), *(size + more for size in around for more in (-1, 0, 1)), 20_001]
    lines = [rng.standard_normal(size) * 40 for size in sizes]
    lines += [np.arange(5000) % 120, np.arange(5000)[::-1] // 50, np.zeros(5000)]
    lines += [np.copysign(rng.integers(0, 3, size), rng.standard_normal(size)) for size in (50, 900, 9000)]
    made = [line.astype(dtype if is_float else np.int64).astype(dtype) for line in lines]
    limit = np.inf if is_float else np.iinfo(dtype).max
    for line in made[5::2]:
        line[:: max(1, line.size // 3)] = limit
        if is_float:
            line[1], line[-2], line[2] = np.nan, np.copysign(np.nan, -1), -np.inf
    return [*made, np.full(5000, limit, dtype)]


@pytest.mark.parametrize("dtype", [np.float32, *(pytest.param(d, marks=pytest.mark.thorough) for d in "dQHb")])
def test_lines_of_every_length(tmp_path: Path, dtype: Any) -> None:
    text = """
    def forward(args):
        x, = args
        k = x.size // 3
        a, b = np.partition(x, (k, x.size - 1)), x[np.argpartition(x, k)]
        return np.sort(x), np.argsort(x, kind="stable"), np.sort(a[:k]), a[k:k + 1], np.sort(b[:k]), b[k:k + 1]
    """
    kernel, built = kernel_of(tmp_path, text), None
    for x in _lines(dtype):
        k = x.size // 3
        made = [np.empty(n, t) for n, t in ((x.size, dtype), (x.size, np.intp), *((n, dtype) for n in (k, 1, k, 1)))]
        built = built or build(kernel, [x], made)
        assert built.facts.form == "whole-array", built.facts.reason
        assert run(built, [x], made) is None
        for one, other in zip(made, plain(kernel, [x], made)):
            np.testing.assert_array_equal(one, other)


def test_keys_that_leave_no_bits_for_places(tmp_path: Path) -> None:
    x = np.arange(3000) % 700
    x[::100] = [np.iinfo(np.int64).min, np.iinfo(np.int64).max, 5] * 10
    check(tmp_path, ["np.argsort(x, kind='stable')", "x[np.argpartition(x, 1000)][1000:1001]"], [x])


@pytest.mark.parametrize("dtype", ["h", "f", *(pytest.param(d, marks=pytest.mark.thorough) for d in "?BIqd")])
def test_equal_elements_lie_where_numpy_puts_them(tmp_path: Path, dtype: Any) -> None:
    x, y = example(dtype, (17, 40)), example(dtype, (2000,))
    if dtype in "fd":
        x, y = np.round(x), np.round(y)
    assert (np.argsort(y) != np.argsort(y, kind="stable")).any()
    lines = ["np.argsort(x)", "x.argsort(0)", "np.argsort(y)", "np.argsort(y[:0])", "np.argsort(y[:900])"]
    check(tmp_path, [*lines, "np.argsort(np.argsort(x, axis=None))"], [x, y])


@pytest.mark.parametrize("cpu", [processor.NATIVE, *(pytest.param(c, marks=pytest.mark.thorough) for c in _LEVELS)])
def test_sorting_without_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu: str) -> None:
    """Lines are sorted by our code then, by any processor's vectors, and equal elements keep their order."""
    monkeypatch.setattr(numpy_sorting, "attach", lambda *_: None)
    results = "np.sort(x, axis=1), np.sort(x, axis=0), np.argsort(x, axis=1)"
    kernel = kernel_of(tmp_path, f"def forward(args):\n    x = args[0]\n    return {results}\n")
    few, many = np.arange(16000, dtype=np.float32).reshape(2, 8000) % 7, example(np.float32, (2, 8000))
    for x in (few, many):
        made = [np.empty_like(x), np.empty_like(x), np.empty(x.shape, np.intp)]
        with processor.compiling_for(cpu):
            assert run(build(kernel, [x], made), [x], made) is None
        np.testing.assert_array_equal(made[0], np.sort(x, axis=1))
        np.testing.assert_array_equal(made[1], np.sort(x, axis=0))
        np.testing.assert_array_equal(made[2], np.argsort(x, axis=1, kind="stable"))


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.uint8, marks=pytest.mark.thorough)])
def test_partitions(tmp_path: Path, dtype: type) -> None:
    x, y = example(dtype, (3, 200, 4)), example(dtype, (1000,))
    lines = ["np.partition(x, 150, axis=1)[:, 150]", "np.sort(np.partition(x, (-150, 20), 1)[:, 20:50], 1)"]
    lines += ["np.sort(y[np.argpartition(y, -9)[-9:]])", "np.partition(x, np.array([7, 2400 - 1]), None)[7::2392]"]
    lines += ["np.sort(np.argpartition(x, 2), axis=2)", "np.sort(y[y.argpartition([3, 500])[:500]])[3:]"]
    check(tmp_path, lines, [x, y])


def test_ordering_in_place(tmp_path: Path) -> None:
    text = """
    def forward(args):
        x, = args
        y, z, w = x.copy(), x.copy(), x.copy()
        y.sort(axis=0)
        z[1:, ::2].sort()
        w[0].partition(3)
        return y, z, w[0, 3:4]
    """
    x = example(np.float64, (6, 9))
    made = [np.empty_like(x), np.empty_like(x), np.empty(1)]
    kernel = kernel_of(tmp_path, text)
    built = build(kernel, [x], made)
    assert built.facts.form == "whole-array", built.facts.reason
    assert run(built, [x], made) is None
    for one, other in zip(made, plain(kernel, [x], made)):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("call", ["np.sort(x, axis=2)", "np.partition(x, 9, 1)", "np.argpartition(x, -7)"])
def test_axes_and_ranks_that_do_not_exist(tmp_path: Path, call: str) -> None:
    kernel = kernel_of(tmp_path, f"def forward(args):\n    x, = args\n    return {call} * 1.0\n")
    x = example(np.float64, (4, 6))
    built = build(kernel, [x], [x.copy()])
    assert built.facts.form == "whole-array", built.facts.reason
    assert "out of bounds" in str(run(built, [x], [x.copy()]))
