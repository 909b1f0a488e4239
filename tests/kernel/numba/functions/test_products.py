"""Matrix products, and inner, outer and other products: the values, shapes and dtypes are NumPy's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run
from quick import thorough

from pykernels import PykernelsWarning

RNG = np.random.default_rng(5)


def check(folder: Path, body: str, *cases: tuple[np.ndarray, ...]) -> None:
    """Compare a kernel of `x`, `y` and `z` with its plain run, on arrays of the same dtypes and ranks."""
    names = "".join(f"{name}, " for name, _ in zip("xyz", cases[0]))
    kernel = kernel_of(folder, f"def forward(args):\n    {names}= args\n    {body}\n")
    built = None
    for inputs in cases:
        found = kernel.function(inputs)
        wanted = [np.asarray(each) for each in (found if isinstance(found, tuple) else (found,))]
        made = [np.full(each.shape, 7, each.dtype) for each in wanted]
        built = built or build(kernel, inputs, made)
        assert built.facts.form == "whole-array" and not built.facts.python_calls, built.facts.reason
        assert run(built, inputs, made) is None
        for each, other in zip(made, wanted):
            tolerance = {4: 1e-5, 8: 1e-12}.get(other.itemsize, 0) * (other.dtype.kind == "f")
            size = 1 + np.abs(np.nan_to_num(other.astype(float), posinf=0, neginf=0)).max(initial=0)
            np.testing.assert_allclose(each, other, rtol=tolerance, atol=tolerance * size)


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers of any size that a dtype has, or flags."""
    if np.dtype(dtype).kind == "f":
        return RNG.standard_normal(shape).astype(dtype)
    whole = RNG.integers(-(2**62), 2**62, shape)
    return (whole % 3 == 0) if dtype == "?" else whole.astype(dtype)


MATMUL = (
    "x[0, 0] @ y[0, 0, :, 0], x @ y[0, 0, :, 0], x[0, 0] @ y, x[0] @ y[0, 0], "
    "np.matmul(x[:, ::-1], y[:, :1, :, ::2]), x.T[:3] @ x[:, 1:]"
)
OTHERS = (
    "np.dot(x, y), x.dot(y[0, 0]), np.inner(x[0], x), np.vdot(x[0].T, x[1]), np.outer(x[0], y[0, :, 0]), "
    "np.kron(x[0], y[0])"
)
SUMS = (
    "np.kron(x[0], y[0, 0, 0]), np.tensordot(x, y[0, 0], 1), np.tensordot(x[0], y[0, 0], 0), "
    "np.tensordot(x, y, ((0, 2), (1, -2))), np.tensordot(x, x, 3), np.tensordot(y, x, (2, -1))"
)
MIXED = "x @ y, np.tensordot(x, y, ((0, 2), (1, -2))), np.kron(x[0], y[0])"


def test_products_with_the_transpose(tmp_path: Path) -> None:
    """Large ones are computed by half: of contiguous rows, and of contiguous columns in a stack."""
    x, y = numbers((2, 130, 70), "f8"), numbers((90, 130), "f4")
    squares = "np.swapaxes(x, 1, 2) @ x, x @ np.swapaxes(x, 1, 2), y @ y.T, y[:, :90].T @ y[:, 40:]"
    check(tmp_path, f"return {squares}", (x, y))


@pytest.mark.parametrize("body", [MATMUL, *thorough(OTHERS, SUMS)])
def test_all_products(tmp_path: Path, body: str) -> None:
    check(tmp_path, f"return {body}", (numbers((3, 4, 5), "f4"), numbers((2, 3, 5, 20), "f4")))


def test_rows_around_other_axes(tmp_path: Path) -> None:
    """More than fit in the cache are computed in parts."""
    check(tmp_path, "return np.matmul(x, y)", (numbers((500, 1, 8, 16), "f4"), numbers((4, 16, 8), "f4")))


@pytest.mark.thorough
@pytest.mark.parametrize("dtypes", [("f8", "i4"), ("u1", "?"), ("?", "?")])
def test_products_of_all_dtypes(tmp_path: Path, dtypes: tuple[str, str]) -> None:
    check(tmp_path, f"return {MIXED}", (numbers((3, 4, 5), dtypes[0]), numbers((2, 3, 5, 20), dtypes[1])))


@pytest.mark.parametrize("dtype", ["f8", *thorough("f4", "i2")])
def test_products_of_all_shapes(tmp_path: Path, dtype: str) -> None:
    """Matrices of a few elements and of many, empty ones, rows and columns, and stacks that are broadcast."""
    sizes = [(0, 2, 3), (2, 0, 3), (2, 3, 0), (1, 1, 1), (1, 300, 70), (70, 300, 1), (3, 3, 3), (40, 20, 50)]
    sizes += [(9, 700, 33), (65, 33, 1), (2, 2, 600)]
    shapes = [((a, m, k), (b, k, n)) for m, k, n in sizes for a, b in ((1, 1), (3, 3), (3, 1), (1, 2), (0, 1))]
    cases = [(numbers(left, dtype), numbers(right, dtype)) for left, right in shapes]
    with np.errstate(all="ignore"):
        cases.append((np.full((2, 3, 4), np.inf).astype(dtype), numbers((1, 4, 5), dtype)))
        check(tmp_path, "z = y.transpose((0, 2, 1)); return x @ y, z @ x.transpose((0, 2, 1))", *cases)


@pytest.mark.thorough
def test_products_that_are_no_matrices_in_memory(tmp_path: Path) -> None:
    x, y = numbers((12, 20, 16), "f4"), numbers((20, 16, 30), "f4")
    check(
        tmp_path,
        "return (np.tensordot(x.T, y, ((1, 0), (0, 1))), x[::-2, :, ::2] @ y[:16:2, 0], "
        "np.tensordot(x[:, ::2], x[:, 1::2], ((0, 2), (0, 2))), np.dot(y.T[:, ::3, 2:][..., ::-1], x[0, :18]))",
        (x, y),
    )


@pytest.mark.thorough
def test_traces(tmp_path: Path) -> None:
    body = (
        "np.trace(x), np.trace(x, 1, -1, 0), x.T.trace(-2, dtype=np.float32), np.trace(x[0], y.shape[0]), np.trace(y)"
    )
    check(tmp_path, f"return {body}", (numbers((3, 4, 5), "i1"), numbers((3, 7), "f4")))


@pytest.mark.thorough
def test_other_operations_of_each_with_each(tmp_path: Path) -> None:
    body = (
        "np.subtract.outer(x[0], y), np.less.outer(y, x), np.maximum.outer(y, y), np.cross(y, x), "
        "np.cross(y.T, x.T, axis=0), np.cross(y, x[0], axisc=0), np.cross(y[0], x[1])"
    )
    check(tmp_path, f"return {body}", (numbers((4, 3), "i2"), numbers((4, 3), "f4")))


@pytest.mark.thorough
def test_vectors_of_two_elements(tmp_path: Path) -> None:
    """NumPy takes them before version 2.5: of two, the product has one axis less."""
    try:
        check(tmp_path, "return np.cross(x, y[:, 1:]), np.cross(y[:, :2], x)", (numbers((4, 3), "i2"),) * 2)
    except ValueError as error:
        assert "3-dimensional vectors" in str(error)
    x = numbers((4, 2), "f8")
    kernel = kernel_of(tmp_path, "def forward(args):\n    return np.cross(*args).sum(keepdims=True).reshape(1)\n")
    built, made = build(kernel, [x, x], [x[0, :1]]), np.zeros(1)
    try:
        wanted = kernel.function((x, x))
    except ValueError:
        assert "3-dimensional vectors" in str(run(built, [x, x], [made]))
        return
    with pytest.warns(PykernelsWarning, match="a number of axes that depends on lengths"):
        assert run(built, [x, x], [made]) is None
    np.testing.assert_allclose(made, wanted)


def test_given_outputs(tmp_path: Path) -> None:
    body = "z = np.zeros((20, 40)); w = z[:, ::2]; np.matmul(x, y, out=w); return z, np.dot(x, y, np.ones((20, 20)))"
    check(tmp_path, body, (numbers((20, 30), "f8"), numbers((30, 20), "f8")))


@pytest.mark.parametrize(
    "body",
    ["x @ y", *thorough("np.dot(x, y.T[:2])", "np.matmul(x, y.T, out=np.ones((3, 4)))", "np.inner(x, y[:, 1:])")],
)
def test_shapes_that_do_not_fit(tmp_path: Path, body: str) -> None:
    kernel = kernel_of(tmp_path, f"def forward(args):\n    x, y = args\n    return {body}\n")
    x = numbers((3, 4), "f8")
    built = build(kernel, [x, x], [x])
    assert built.facts.form == "whole-array"
    assert "ValueError" in str(run(built, [x, x], [x.copy()]))
