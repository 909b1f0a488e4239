"""Systems of linear equations, inverses, determinants and factors: NumPy's values, dtypes and errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run
from test_products import check

RNG = np.random.default_rng(7)


def systems(n: int, *shape: int) -> np.ndarray:
    """Matrices whose rows must be exchanged to solve for them."""
    return np.roll(RNG.standard_normal((*shape, n, n)) + 2 * n * np.eye(n), 1, axis=-1)


def definite(n: int, *shape: int) -> np.ndarray:
    x = RNG.standard_normal((*shape, n, n))
    return x @ x.swapaxes(-1, -2) + np.eye(n)


def test_solutions(tmp_path: Path) -> None:
    few, many = (systems(n).astype(np.float32) for n in (5, 100))
    sides = (RNG.standard_normal((n, k)).astype(np.float32) for n, k in ((5, 3), (100, 77)))
    cases = [(a, b, b[:, 0].copy()) for a, b in zip((few, many), sides)]
    body = "return np.linalg.solve(x, y), np.linalg.solve(x.T, z), np.linalg.solve(x, np.eye(len(x))), x + 0"
    check(tmp_path, body, *cases, tuple(each[:0, :0] if each.ndim > 1 else each[:0] for each in cases[0]))


def test_stacks_are_broadcast(tmp_path: Path) -> None:
    x, y, z = (
        systems(4, 3, 1),
        RNG.standard_normal((1, 2, 4, 40)),
        np.arange(16).reshape(4, 4) % 5 + 9 * np.eye(4, dtype=int),
    )
    body = "return np.linalg.solve(x, y), np.linalg.solve(z, y[0]), np.linalg.solve(z, y[0, 0, :, 0])"
    check(tmp_path, body, (x, y, z))


def test_a_stack_of_vectors_is_as_in_this_numpy(tmp_path: Path) -> None:
    x, y = systems(3, 3), RNG.standard_normal((3, 3))
    check(tmp_path, "return np.linalg.solve(x, y)", (x, y))


@pytest.mark.filterwarnings("ignore:overflow")
def test_inverses_determinants_and_factors(tmp_path: Path) -> None:
    """A determinant of large matrices overflows, and that of a singular or empty one is a number, too."""
    x, y, z = systems(5).astype(np.float32), systems(4, 3), definite(6, 2, 1)
    y[1, 2] = 0
    large = systems(100).astype(np.float32), systems(40, 2), definite(50, 1, 2)
    body = (
        "return np.linalg.inv(x.T), np.linalg.inv(z)[..., ::2], np.linalg.det(x), np.linalg.det(y), "
        "np.linalg.slogdet(x.T)[0], np.linalg.slogdet(y)[1], np.linalg.cholesky(z), np.linalg.cholesky(z[0, 0].T)"
    )
    check(tmp_path, body, (x, y, z), large, (x[:0, :0], y[:, :0, :0], z[..., :0, :0]), (x, y[:0], z))


def test_integers_and_both_results_of_slogdet(tmp_path: Path) -> None:
    x = np.arange(9).reshape(3, 3) % 5 + 9 * np.eye(3, dtype=int)
    body = "s, l = np.linalg.slogdet(x)\n    return s, l, np.linalg.inv(x), np.linalg.det(x), np.linalg.cholesky(x)"
    check(tmp_path / "integers", body, (x,))
    check(tmp_path / "pair", "return np.linalg.slogdet(y)", (x, systems(4, 3)))


@pytest.mark.skipif(np.__version__ < "2", reason="NumPy 1 has neither")
def test_names_and_upper_factors(tmp_path: Path) -> None:
    uppers = "np.linalg.cholesky(x, upper=True), np.linalg.cholesky(y, upper=True)"
    body = f"r = np.linalg.slogdet(x)\n    return r.logabsdet * r.sign, {uppers}"
    x = definite(4, 3) + np.tril(RNG.standard_normal((4, 4)), -1)
    check(tmp_path, body, (x, x[0].astype(np.float32)))


@pytest.mark.parametrize(
    ("name", "text"), [("inv", "Singular matrix"), ("cholesky", "Matrix is not positive definite")]
)
def test_errors_of_functions_of_a_matrix(tmp_path: Path, name: str, text: str) -> None:
    kernel = kernel_of(
        tmp_path, f"def forward(args):\n    (x,) = args\n    return np.linalg.{name}(x) + np.linalg.det(x[0])"
    )
    x, made = definite(3, 2), np.empty((2, 3, 3))
    built = build(kernel, [x], [made])
    assert not built.facts.python_calls
    wrong = x.copy()
    wrong[1, 2] = 0
    assert f"LinAlgError: {text}" in run(built, [wrong], [made])
    assert "LinAlgError: Last 2 dimensions" in run(built, [x[:, :2].copy()], [made])
    assert run(built, [x], [made]) is None
    np.testing.assert_allclose(made, kernel.function((x,)))


def test_errors_are_numpys(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "import numpy as np\n\n\ndef forward(args):\n    return np.linalg.solve(*args)\n")
    x, y, made = np.ones((2, 3, 3)), np.ones((2, 3, 2)), np.empty((2, 3, 2))
    built = build(kernel, [x, y], [made])
    assert not built.facts.python_calls
    assert "LinAlgError: Singular matrix" in run(built, [x, y], [made])
    x[0] = x[1] = np.eye(3)
    x[1, 2, 2] = 0
    assert "LinAlgError: Singular matrix" in run(built, [x, y], [made])
    assert "LinAlgError: Last 2 dimensions" in run(built, [x[:, :2].copy(), y], [made])
    assert "ValueError" in run(built, [x, y[:, :2].copy()], [made])
    x[1, 2, 2] = 4
    assert run(built, [x, y], [made]) is None
    np.testing.assert_allclose(made, np.linalg.solve(x, y))
