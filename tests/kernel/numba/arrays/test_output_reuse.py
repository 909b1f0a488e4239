"""The memory of an output may be lent to a kernel for what it returns: whatever that is, the output gets it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run
from quick import thorough

X = np.random.default_rng(3).standard_normal((40, 50))
# What a kernel computes with: arrays of the outputs' size, which no other form than numba's can compute.
START = "a = np.sort(x)\n    b = np.sort(-x)\n    "


@pytest.mark.parametrize(
    "body",
    [
        *("return x, x[:, ::-1]", "return b", "return a[::-1]", "return a, a", "return a, b", "return b, a"),
        *thorough("return a[::-1], a", "return b[:, ::-1], a[::-1]", "return np.roll(a, 3), b, a"),
        *thorough("return a.reshape((50, 40)).T, b", "return a[0], a"),
        *thorough("return np.broadcast_to(a[:, :1], a.shape), a[:1]"),
        *thorough("a = a[::-1]\n    a[1:] = a[:-1]\n    return a", "return a[0, 0], a"),
        "c = a if x[0, 0] > 0 else b\n    return c, a",
        *thorough("c = a\n    for i in range(20):\n        c = np.roll(c, 1)\n    return c, np.roll(a, 1)"),
        *thorough("c = np.empty(x.shape)\n    c[:] = b\n    return np.roll(c, 1)"),
        *thorough("return a > b, a.astype(np.float32), a, b"),
    ],
)
def test_what_is_returned(tmp_path: Path, body: str) -> None:
    kernel = kernel_of(tmp_path, f"def forward(args):\n    (x,) = args\n    {START}{body}\n")
    built = None
    for x in (X, -X, X[:8], X * 2, np.zeros((0, 50)), X[:1, :2], X):
        if x.shape != X.shape and ("reshape" in body or "0]" in body):
            continue
        x = x.copy()
        before, wanted = x.copy(), kernel.function((x,))
        wanted = [np.asarray(each) for each in (wanted if isinstance(wanted, tuple) else (wanted,))]
        made = [np.full(each.shape, 7, each.dtype) for each in wanted]
        built = built or build(kernel, [x], made)
        assert built.facts.form in ("whole-array", "loops"), built.facts.reason
        for _ in range(3):
            assert run(built, [x], made) is None
            for each, other in zip(made, wanted):
                np.testing.assert_array_equal(each, other)
        np.testing.assert_array_equal(x, before)


@pytest.mark.thorough
def test_an_output_that_shares_memory_with_an_input(tmp_path: Path) -> None:
    body = "z = np.zeros(x.shape)\n    z[1:] = x[:-1]\n    return z + np.sort(x)"
    kernel = kernel_of(tmp_path, f"def forward(args):\n    (x,) = args\n    {body}\n")
    x = X.copy()
    built = build(kernel, [x], [x.copy()])
    for begin in (0, 50, 100):
        memory = np.concatenate([X.ravel(), X.ravel()])
        given, made = memory[: X.size].reshape(X.shape), memory[begin : begin + X.size].reshape(X.shape)
        wanted = kernel.function((given.copy(),))
        assert run(built, [given], [made]) is None
        np.testing.assert_array_equal(made, wanted)


@pytest.mark.thorough
def test_failures_end_a_loan(tmp_path: Path) -> None:
    body = (
        "a = np.sort(x)\n    if x[0, 0] > 9:\n        raise ValueError('too large')\n    return np.roll(a, 1)[: int(n)]"
    )
    kernel = kernel_of(tmp_path, f"def forward(args, *, n):\n    (x,) = args\n    {body}\n")
    made = np.zeros(X.shape)
    built = build(kernel, [X], [made], {"n": 40.0})
    wanted = np.roll(np.sort(X), 1)
    for _ in range(3):
        assert "raised ValueError: too large" in str(run(built, [X + 20], [made], {"n": 40.0}))
        assert "returned shape (30, 50) for output 'y'" in str(run(built, [X], [made], {"n": 30.0}))
        assert run(built, [X], [made], {"n": 40.0}) is None
        np.testing.assert_array_equal(made, wanted)


def test_threads_have_loans_of_their_own(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    (x,) = args\n    a = np.sort(x)\n    return np.roll(a, 1)\n")
    built = build(kernel, [X], [X.copy()])

    def work(number: int) -> bool:
        x, made = X + number, np.zeros(X.shape)
        wanted = np.roll(np.sort(x), 1)
        return all(run(built, [x], [made]) is None and bool((made == wanted).all()) for _ in range(100))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
