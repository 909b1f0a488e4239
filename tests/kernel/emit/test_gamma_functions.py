"""The gamma function's logarithm and digamma in fused kernels: SciPy's values to a few units in the last place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import build, kernel_of, run
from scipy import special

RNG = np.random.default_rng(1)
# The zero of digamma.
ZERO = 1.4616321449683622


def computed(folder: Path, name: str, x: np.ndarray) -> np.ndarray:
    text = f"from scipy import special\ndef forward(args):\n    return special.{name}(args[0])\n"
    made = np.full_like(x, 7, dtype=getattr(special, name)(x).dtype)
    built = build(kernel_of(folder, text), [x], [made])
    assert built.facts.form == "elementwise", built.facts.reason
    assert run(built, [x], [made]) is None
    return made


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64"])
@pytest.mark.parametrize("name", ["digamma", "gammaln"])
def test_values(tmp_path: Path, name: str, dtype: Any) -> None:
    pieces = [RNG.uniform(0, 4, 2000), RNG.uniform(4, 30, 2000), 10.0 ** RNG.uniform(-3, 4, 1000)]
    # Next to where digamma changes its form.
    borders = np.array([1.0, 2.0, 3.0, 10.0])
    pieces += [borders, np.nextafter(borders, 0), np.nextafter(borders, 11)]
    x = np.concatenate(pieces).astype(dtype)
    x = x[x > 0]
    wanted = getattr(special, name)(x)
    digits = 4 * float(np.finfo(wanted.dtype).eps)
    np.testing.assert_allclose(computed(tmp_path, name, x), wanted, rtol=digits, atol=digits)
    if np.dtype(dtype).kind == "f":
        x = -RNG.uniform(0, 30, 2000).astype(dtype)
        x = x[np.abs(x - np.rint(x)) > 0.05]  # SciPy's own error grows next to the poles
        wanted = getattr(special, name)(x)
        np.testing.assert_allclose(computed(tmp_path, name, x), wanted, rtol=50 * digits, atol=50 * digits)


def test_digamma_next_to_its_zero(tmp_path: Path) -> None:
    steps = np.arange(-200, 201) * 2.0**-40
    line = special.polygamma(1, ZERO) * steps
    np.testing.assert_allclose(computed(tmp_path, "digamma", ZERO + steps), line, rtol=1e-9, atol=1.1e-16)
    x = RNG.uniform(1.4, 1.5, 2000)
    np.testing.assert_allclose(computed(tmp_path, "digamma", x), special.digamma(x), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["digamma", "gammaln"])
def test_special_values(tmp_path: Path, name: str, dtype: Any) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1, -2, 1e-30, -1e-30, 1e17, -1e17, 1, 2], dtype)
    with np.errstate(all="ignore"):
        wanted = getattr(special, name)(x)
    np.testing.assert_allclose(computed(tmp_path, name, x), wanted, rtol=4 * np.finfo(dtype).eps)
