"""Memory of temporary arrays in compiled loops: small ones of each thread, whatever becomes of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from compiled import build, kernel_of, run

from pykernels.kernel.build import BuiltKernel

BODY = """
def forward(args, outs):
    (x,), (y,) = args, outs
    kept = np.empty(3)
    for i in range(len(x)):
        n = int(x[i])
        if n < 0:
            raise ValueError("a negative length")
        a, b = np.zeros(n, np.int32), np.empty((2, n))
        for k in range(n):
            a[k] = k
            b[0, k], b[1, k] = k, 2 * k
        if n % 3 == 0:
            kept = b[1]
        total = 0.0
        for k in range(n):
            total += a[k] + b[0, k] + b[1, k]
        for k in range(min(3, kept.size)):
            kept[k] += 1
        y[i] = total
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltKernel:
    x = np.ones(4)
    kernel = build(kernel_of(tmp_path_factory.mktemp("op"), BODY), [x], [x.copy()])
    assert kernel.facts.form == "loops"
    return kernel


def check(built: BuiltKernel, lengths: np.ndarray) -> bool:
    y = np.full_like(lengths, 7)
    return run(built, [lengths], [y]) is None and bool((y == 2 * lengths * (lengths - 1)).all())


def test_small_and_large_ones(built: BuiltKernel) -> None:
    assert check(built, np.array([0.0, 1, 5, 300, 2, 100_000, 64, 65, 7, 0, 20, 3, 9, 9, 9]))


def test_those_that_an_exception_leaves_behind(built: BuiltKernel) -> None:
    for _ in range(100):
        assert "raised ValueError: a negative length" in str(run(built, [np.array([5.0, 3, -1])], [np.zeros(3)]))
        assert check(built, np.array([4.0, 9, 2]))


def test_threads_have_their_own(built: BuiltKernel) -> None:
    def work(seed: int) -> bool:
        lengths = np.random.default_rng(seed).integers(0, 40, 200).astype(float)
        return all(check(built, lengths) for _ in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
