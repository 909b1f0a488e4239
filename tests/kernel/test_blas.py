"""The library that computes matrix products and solves systems: NumPy's own, or SciPy's."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from compared import check

from pykernels.kernel import blas

RNG = np.random.default_rng(0)
BODIES = ["x @ y", "y.T @ y", "x[0] @ y", "np.dot(y[:, 0], y[:, 1])", "np.linalg.solve(z, y) * 2"]
BODIES += ["np.linalg.cholesky(z @ z.T) + np.linalg.slogdet(z)[1]"]


@pytest.fixture
def inputs() -> list[np.ndarray]:
    x, y, z = (RNG.standard_normal(shape) for shape in ((30, 70), (70, 120), (70, 70)))
    return [x, y, z + 9 * np.eye(70)]


def test_products_are_those_of_numpy(tmp_path: Path, inputs: list[np.ndarray]) -> None:
    check(tmp_path, BODIES, inputs, rtol=1e-9)
    assert blas._preferred or "numpy" in str(blas._library)


def test_a_numpy_without_blas(tmp_path: Path, inputs: list[np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy's integers have 32 bits."""
    monkeypatch.setattr(blas, "_default", blas._from_scipy)
    monkeypatch.setattr(blas, "_preferred", None)
    check(tmp_path, BODIES, inputs, rtol=1e-9)


def test_a_library_that_lacks_functions_is_not_preferred() -> None:
    before = blas._library
    assert not blas.prefer(ctypes.CDLL("libm.so.6"))
    assert blas._library is before
