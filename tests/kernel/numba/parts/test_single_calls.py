"""Functions that only fused kernels have, in kernels with loops: of arrays and of elements, with SciPy's values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import build, kernel_of, run
from quick import thorough

from pykernels.kernel.numba.parts.calling import PARTS

RNG = np.random.default_rng(0)
OF_ARRAYS = """
    for k in range(1):
        a = special.softmax(x, axis=-1)
        if k == 0:
            b = special.logsumexp(x, axis=(0, 1), keepdims=True)
    i = (9 * y).astype(np.int64)
    c = np.clip(i, 0.5, 7), i.clip(max=5), x.clip(y[0, 0], 0.5), np.clip(x, a_min=-0.25, a_max=None), x.clip(-1, y)
    d = special.logsumexp(x, axis=1, b=x[0])
    e = special.xlogy(0.5, y), special.xlogy(y[0], y), special.psi(y), np.tril(y, 1), special.log_softmax(y, 1)
    e = *e, np.heaviside(x, 0.5), np.heaviside(y, x[0])
    return a, b, *c, d, *e
"""
OF_ELEMENTS = """
    z = np.zeros((6, *y.shape))
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            z[0, i, j] = special.psi(y[i, j])
            z[1, i, j] = special.gammaln(y[i, j] + 1)
            z[2, i, j] = special.erf(y[i, j])
            z[3, i, j] = special.xlogy(y[i, j], 2.0)
            z[4, i, j] = special.logit(y[i, j] / 10)
            z[5, i, j] = special.expit(alpha)
    return z
"""


def check(folder: Path, body: str, x: np.ndarray, y: np.ndarray) -> None:
    text = f"from scipy import special\ndef forward(args, *, alpha):\n    x, y = args{body}"
    kernel = kernel_of(folder, text)
    with np.errstate(all="ignore"):
        found = kernel.function((x, y), alpha=0.5)
    wanted = found if isinstance(found, tuple) else (found,)
    made = [np.full(each.shape, 7, each.dtype) for each in wanted]
    built = build(kernel, [x, y], made, {"alpha": 0.5})
    assert built.facts.form == "loops" and not built.facts.python_calls, built.facts
    assert run(built, [x, y], made, {"alpha": 0.5}) is None
    for ours, right in zip(made, wanted):
        digits = 1e-13 if y.dtype in (np.float64, np.int64) else 2e-6
        np.testing.assert_allclose(ours, right, rtol=digits, atol=digits)


@pytest.mark.parametrize("dtype", ["float32", *thorough("float64")])
def test_arrays(tmp_path: Path, dtype: Any) -> None:
    x = RNG.standard_normal((3, 4, 5)).astype(dtype)
    check(tmp_path, OF_ARRAYS, x, np.abs(x[0]))


# Parts are counted as they are written, so the kernel must not have been compiled before.
@pytest.mark.usefixtures("new_cache")
def test_reductions_along_known_axes_are_fused(tmp_path: Path) -> None:
    lines = [
        "np.max(x, 1)",
        "np.add.reduce(x)",
        "np.nanmax(x, axis=(0, 1))",
        "np.std(x, -1, keepdims=True)",
        "np.sum(x)",
    ]
    text = "\n".join(f"            z += {line}" for line in lines)
    kernel = kernel_of(
        tmp_path,
        f"def forward(args):\n    (x,) = args\n    z = np.zeros((4, 4, 4))\n"
        f"    for k in range(2):\n        if k > 0:\n{text}\n    return z\n",
    )
    x, made = RNG.standard_normal((4, 4, 4)), np.empty((4, 4, 4))
    before = len(PARTS)
    built = build(kernel, [x], [made])
    assert (built.facts.form, len(PARTS) - before) == ("loops", len(lines) - 1)
    assert run(built, [x], [made]) is None
    np.testing.assert_allclose(made, kernel.function((x,)), rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", *thorough("float64", "int8", "int64", "bool")])
def test_elements(tmp_path: Path, dtype: Any) -> None:
    check(tmp_path, OF_ELEMENTS, np.zeros((1, 1, 1)), (9 * RNG.random((4, 7))).astype(dtype))
