"""Kernels of complex numbers: what NumPy computes, in every form that they have."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest
from compared import check
from compiled import build, kernel_of, plain, run

from pykernels.kernel.facts import LOOPS, PYTHON, WHOLE_ARRAY

RNG = np.random.default_rng(5)


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


# Expressions of the complex arrays `x` and `y`, and of the real array `z`.
ARITHMETIC = """
x * y; x / y; x - 2; 2.5 / x; -x; x ** 2; x ** -3; x ** y; 1j * x; (1 + 2j) * z; np.exp(1j * z); x * z; z + 1j
x.real; np.imag(x); np.conj(x); x.conj().T; np.abs(x); np.angle(x); np.exp(x); np.log(x); np.sqrt(x); np.tanh(x)
np.sin(x); x == y; np.isnan(x); np.where(z > 0, x, y); x.real + 1j * x.imag; x.astype(np.complex128)
"""
ARRAYS = """
np.sum(x); np.sum(x, axis=1); np.mean(x, axis=0); np.prod(x, axis=0); np.cumsum(x, axis=1); np.var(x)
np.average(x, axis=1); x @ y.T; x[0] @ y[0]; x @ y[0]; np.dot(x, y.T); np.vdot(x[0], y[0]); np.outer(x[0], y[0])
np.convolve(x[0], y[0]); np.einsum("ij,kj->ik", x, y); np.linalg.solve(x[:4, :4], y); np.concatenate([x, y])
x[::2, ::-1]; np.fft.ifft(np.fft.fft(x) * y).astype(x.dtype); x.view(z.dtype); np.max(np.abs(x), axis=1)
"""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.replace("\n", ";").split(";") if line.strip()]


@pytest.mark.filterwarnings("ignore:.*but for calls of Python:pykernels.PykernelsWarning")
@pytest.mark.parametrize("expressions", [ARITHMETIC, ARRAYS], ids=["arithmetic", "arrays"])
def test_expressions(tmp_path: Path, expressions: str) -> None:
    x, y = numbers("complex64", 4, 5), numbers("complex64", 4, 5)
    z = RNG.standard_normal((4, 5)).astype(np.float32)
    check(tmp_path, lines(expressions), [x, y, z], rtol=1e-4)


BODIES = {
    LOOPS: """
        y = np.empty_like(x)
        for i in range(len(x)):
            total = 0j
            for j in range(x.shape[1]):
                total += x[i, j] * np.conj(x[i, 0]) + abs(x[i, j])
                y[i, j] = total / (1 + 2j)
        return y
    """,
    WHOLE_ARRAY: "return 1j * x",
    PYTHON: "return (lambda a: exec('a = 1') or a * 1j)(x)",
}


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("form", BODIES)
def test_forms(tmp_path: Path, form: str, dtype: str) -> None:
    body = textwrap.indent(textwrap.dedent(BODIES[form]), "    ")
    kernel = kernel_of(tmp_path, f"def forward(args):\n    (x,) = args\n{body}\n")
    x, made = numbers(dtype, 3, 4), [np.empty((3, 4), dtype)]
    built = build(kernel, [x], made)
    assert built.facts.form == form, built.facts.reason
    assert run(built, [x], made) is None
    np.testing.assert_allclose(made, plain(kernel, [x], made), rtol=1e-5 if dtype == "complex64" else 1e-12)


def test_powers_of_zero_are_numpys(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    x, y = args\n    return x ** y\n")
    x, y = np.zeros(6, complex), np.array([0, 1, 2.5, -1, 1j, 3])
    made = [np.empty(6, complex)]
    built = build(kernel, [x, y], made)
    assert built.facts.form == WHOLE_ARRAY, built.facts.reason
    assert run(built, [x, y], made) is None
    np.testing.assert_array_equal(made, plain(kernel, [x, y], made))
