"""What puts elements elsewhere, in kernels that numba compiles: the same elements are there as in NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run
from quick import thorough

RNG = np.random.default_rng(7)
X = RNG.standard_normal((6, 10, 7))


def check(folder: Path, body: str, *inputs: np.ndarray) -> None:
    """Compare a kernel of `x` and `y` with its plain run, on these arrays."""
    names = "".join(f"{name}, " for name, _ in zip("xy", inputs))
    kernel = kernel_of(folder, f"def forward(args):\n    {names}= args\n    {body}\n")
    wanted = kernel.function(inputs)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    made = [np.full(each.shape, 7, each.dtype) for each in wanted]
    built = build(kernel, inputs, made)
    assert built.facts.form != "Python", built.facts.reason
    assert run(built, inputs, made) is None
    for at, (each, other) in enumerate(zip(made, wanted)):
        np.testing.assert_array_equal(each, other, f"output {at} of {body}")


# One of each size of elements, and float16, which is computed in float32.
@pytest.mark.thorough
@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.float16, np.float32, np.int64])
def test_all_functions_in_all_dtypes(tmp_path: Path, dtype: type) -> None:
    body = (
        "return (np.stack((x, x[::-1]), 1), np.flip(x, -1), np.roll(x, 4), np.roll(x, -9, axis=1), "
        "np.take(x, y, axis=1), x.transpose((2, 0, 1)), x[:, ::2])"
    )
    check(tmp_path, body, (3 * X).astype(dtype), np.array([3, -1, 0, 9]))


@pytest.mark.parametrize("axis", [1, *thorough(0, 2, -1, -2, -3)])
def test_axes(tmp_path: Path, axis: int) -> None:
    body = f"return (np.stack((x, x), {axis}), np.flip(x, {axis}), np.roll(x, 3, {axis}), np.take(x, y, axis={axis}))"
    for x in (X, X[:, :, :1].copy(), X[:1], np.zeros((4, 0, 3)), np.zeros((3, 2, 0))):
        places = np.array([0, -1, 0] if x.shape[axis] else [], int)
        check(tmp_path, body, x, places)
    check(tmp_path, f"return np.stack((x, x + 1, -x), axis={max(axis, -2) % 2})", X[0, 0].copy())


@pytest.mark.thorough
def test_what_is_not_in_order(tmp_path: Path) -> None:
    body = "return (np.stack((x.T, y[:, :, 0]), 1), np.flip(x.T, 0), np.roll(x.T, 2, 0), np.take(x.T, y[0, :2, 0], 0))"
    y = np.zeros((8, 40, 3), int)
    y[0, :2, 0] = 7, 3
    check(tmp_path, body.replace("y[:, :, 0]", "x.T * 2"), RNG.standard_normal((40, 8)), y)
    check(tmp_path, "return (np.column_stack((x[:, 2], x[:, 0])), np.dstack((x, y.T)))", X[0].copy(), X[0].T.copy())


def test_arrays_without_axes(tmp_path: Path) -> None:
    body = "return np.sort(np.stack((x, y, x))), np.roll(x, 1), np.tile(y, 3), np.broadcast_to(2.5, (2, 3))"
    check(tmp_path, body, np.array(3.0), np.array(4.0))


def test_several_shifts_along_an_axis(tmp_path: Path) -> None:
    body = "return np.roll(x, (1, -3), axis=1), np.roll(x, (1, 2, 4), (0, 2, 0)), np.roll(x, (2, 3))"
    check(tmp_path, f"for _ in range(1): pass\n    {body}", X)


def test_shifts(tmp_path: Path) -> None:
    calls = [f"np.roll(x, {n}), np.roll(x, {n}, axis=0)" for n in (0, 1, 41, 42, 43, 60, -1, -42, -125, 10**12)]
    check(tmp_path, f"return ({', '.join(calls)})", X[:, 0].copy())


@pytest.mark.thorough
@pytest.mark.parametrize(
    "statements",
    [
        ("z[1:] = x[:-1]", "z[:, ::-1] = x", "z[..., 3] = x[..., 4]", "z[2] = x[3, 0]", "z[:, :1] = x[0, 0]"),
        ("z[1:] = z[:-1]", "z[:-1] = z[1:]", "z[::-1] = z", "z[:, 2:8] = z[:, 8:2:-1]", "z[:, :, 1] = z[:, :, 0]"),
        ("z[3:3] = x[3:3]", "z[:, -1] = x[:1, 0]", "z[0] = x[:1, :, :]", "z[:] = x[0, 0, 0]", "z[1:4, 5] += x[1:4, 2]"),
        ("z[:, :7] = x.transpose((0, 2, 1))[:, :, :7]", "z[:2, 0, :] = x[4:, 9, ::-1]", "z[...] = x[:, :1]"),
    ],
)
def test_assignments(tmp_path: Path, statements: tuple[str, ...]) -> None:
    names = [f"z{i}" for i in range(len(statements))]
    lines = [f"{name} = 2 - x; {line.replace('z', name)}" for name, line in zip(names, statements)]
    check(tmp_path, "\n    ".join([*lines, f"return np.sort(x), {', '.join(names)}"]), X)


@pytest.mark.thorough
def test_assignments_of_another_dtype_and_by_arrays(tmp_path: Path) -> None:
    check(
        tmp_path,
        "z = np.zeros(x.shape)\n    z[:, 1:] = y[:, :-1]\n    z[2] = np.sort(x)[1]\n    return z",
        X,
        X.astype(int),
    )
    body = "z = np.stack((x * 1j, x + 2j), 1)\n    z[:, 0, ::2] = z[:, 1, ::2]\n    return np.roll(z, 3).imag + z.real"
    check(tmp_path, body, X)
    check(tmp_path, body, X.astype(np.float32))
    check(tmp_path, "z = np.sort(x)\n    z[y] = x[y[::-1]]\n    return z", X, np.array([0, 3, 1]))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("z = np.sort(x)\n    z[1:] = x[:-2]\n    return z", "could not broadcast input array from shape (3,4)"),
        ("z = np.sort(x)\n    z[:, 0] = x[:, 1:2]\n    return z", "could not broadcast input array from shape (5,1)"),
        ("return np.take(x, np.array([0, 5]), axis=0)", "index 5 is out of bounds"),
        ("return np.take(x, np.array([-6]), axis=0)", "out of bounds"),
        ("return np.flip(x, 2)", "axis 2 is out of bounds"),
        ("return np.roll(x, 1, -3)", "axis -3 is out of bounds"),
        ("return np.stack((x, x[1:]))", "all input arrays must have the same shape"),
        ("return np.stack((x, x), 3)", "axis 3 is out of bounds"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*runs as Python:pykernels.PykernelsWarning")
def test_what_is_wrong_is_reported_as_by_numpy(tmp_path: Path, body: str, message: str) -> None:
    x = np.ones((5, 4))
    kernel = kernel_of(tmp_path, f"def forward(args):\n    (x,) = args\n    {body}\n")
    made = np.ones((2, 5, 4)) if "stack" in body else x.copy()
    assert message in str(run(build(kernel, [x], [made]), [x], [made]))
