"""Kernels of complex numbers: what NumPy computes, in every form that they have."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest
from compared import check
from compiled import build, kernel_of, plain, run

from pykernels.frameworks.comparison import difference
from pykernels.kernel.facts import ELEMENTWISE, LOOPS, PYTHON, WHOLE_ARRAY

RNG = np.random.default_rng(5)


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


# Expressions of the complex arrays `x` and `y`, and of the real array `z`, that are computed in vectors.
ELEMENTS = """
x * y; x / y; x - 2; 2.5 / x; -x; x ** 3; 1j * x; (1 + 2j) * z; np.exp(1j * z); x * z + 1; x.real * x.imag; np.conj(x)
x.conj() * x; np.abs(x); abs(x) ** 2; np.angle(x); np.exp(x); x == y; x != x; np.isnan(x); np.where(z > 0, x, 1)
x.real + 1j * x.imag; np.square(x); z.astype(x.dtype); np.imag(z); np.real(x + z); np.abs(np.exp(1j * z) + 1)
"""
# Others.
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


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_elements_in_vectors(tmp_path: Path, dtype: str) -> None:
    """Also of broadcast arrays, ranges of elements, and arrays that are larger than the caches."""
    body = "".join(f"    r{at} = {line}\n" for at, line in enumerate(lines(ELEMENTS)))
    returned = ", ".join(f"r{at}" for at in range(len(lines(ELEMENTS))))
    kernel = kernel_of(tmp_path, f"def forward(args):\n    x, y, z = args\n{body}    return {returned}\n")
    for shapes in ([(3, 67)] * 3, [(5, 1), (3, 1, 7), (5, 7)], [(1,)] * 3, [(0, 4)] * 3):
        x, y = (numbers(dtype, *shape) for shape in shapes[:2])
        z = numbers(dtype, *shapes[2]).real.copy()
        if x.size > 9:
            x.reshape(-1)[:4], y.reshape(-1)[4:7] = [0, np.inf, np.nan, 1j], [0, 2j, np.inf]
        with np.errstate(all="ignore"):
            wanted = [np.asarray(each) for each in kernel.function((x, y, z))]
        made = [np.empty_like(each) for each in wanted]
        built = build(kernel, [x, y, z], made)
        assert built.facts.form == ELEMENTWISE, built.facts.reason
        assert run(built, [x, y, z], made) is None
        for line, one, other in zip(lines(ELEMENTS), made, wanted):
            assert difference(line, one, other, is_elementwise=True) is None


def test_elements_of_large_arrays(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    x, y = args\n    return x * y\n")
    x, y = numbers("complex128", 1_000_003), numbers("complex128", 1)
    made = [np.empty_like(x)]
    for other in (y, x):
        assert run(build(kernel, [x, other], made), [x, other], made) is None
        np.testing.assert_allclose(made[0], x * other, 1e-15)


@pytest.mark.parametrize("body", ["r = y.real\n    r *= 2\n    return y", "r = y.real\n    y *= 2\n    return y + r"])
def test_parts_are_views(tmp_path: Path, body: str) -> None:
    kernel = kernel_of(tmp_path, f"def forward(args):\n    (x,) = args\n    y = x * 3\n    {body}\n")
    x, made = numbers("complex64", 5), [np.empty(5, np.complex64)]
    built = build(kernel, [x], made)
    assert built.facts.form != ELEMENTWISE
    assert run(built, [x], made) is None
    np.testing.assert_allclose(made, plain(kernel, [x], made), 1e-6)


@pytest.mark.thorough
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
    WHOLE_ARRAY: "return np.sqrt(1j * x)",
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
