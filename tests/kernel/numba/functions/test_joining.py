"""Joining, splitting, flipping, rolling and padding arrays in compiled kernels: NumPy's values and dtypes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run
from quick import thorough

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
Y = X.astype(int) * 2
FLOATS = np.array([[1.5, np.nan], [-0.0, np.inf]])

_JOINED = """
    np.stack([x, y]), np.stack((x.T, y.T), -1), np.concatenate([x, y[:, :1], x > 3], 1), np.concatenate((x, y), None),
    np.concatenate((x[0, :, :2], x[1, :, ::2].T[:, :2])), np.concatenate((x, y), axis=-2, dtype=np.float32),
    np.vstack((x[0, 0], y[0])), np.hstack((x, x)), np.hstack([x[0, 0], y[0, 1]]), np.dstack((x[0], y[1])),
"""
_JOINED_MORE = """
    np.column_stack((x[0, :, 0], y[0])), np.append(x, y), np.append(x, y, 2), np.concatenate((x[:0], y)),
    np.stack([x[i] for i in range(2)], 1), np.hstack([x[i].T * 2 for i in range(2)]),
    np.concatenate([h * 2 for h in np.split(x, 2, axis=2)], axis=2),
"""
_BLOCKS = """
    np.block([[x[0], y[0]], [y[1], x[1]]]), np.block([x, y]), np.block([[x[0, 0]], [y[0, 0]]]),
    np.block([[[x]], [[y]]]),
    np.block([[np.eye(3, dtype=x.dtype), np.zeros((3, 2))], [x[0, :, :3], x[1, :, 2:]]]), np.block([x[0, 0], 1, 2.5]),
"""
_MOVED = """
    np.flip(x), np.flip(x, (0, 2)), np.flip(x, -1), np.flipud(x), np.fliplr(x), np.rot90(x), np.rot90(x, -1, (1, 2)),
    np.rot90(x, 2), np.rot90(x, 3, (2, 0)), np.roll(x, 5), np.roll(x, (1, -1), (1, 2)), np.roll(x, -5, axis=2),
    np.roll(x, 2, (0, 1)), np.roll(x.T, -7), np.roll(x[:0], 3), np.roll(x[:0], 3, 1), np.roll(x, [7, 1], (-1, 0)),
"""
_REPEATED = """
    np.repeat(x, np.array([2, 0, 1]), axis=1), x.repeat(np.array([1, 2]), -3), np.repeat(x, np.array([2])),
    np.repeat(y, np.arange(3), 1), x[np.ix_([1, 0], [2, 0], [3])], x[np.ix_(np.array([1]), np.arange(3) > 1)],
    np.ix_(x[0, 0], y[:, 0, 0])[0] * np.ix_(x[0, 0], y[:, 0, 0])[1],
"""
_PADDED = """
    np.pad(x, 1), np.pad(y, (1, 2)), np.pad(x, ((0, 0), (0, 1), (2, 3)), constant_values=3.5), np.pad(x.T, ((2,),)),
    np.pad(y, 1, constant_values=((1, 2), (3, 4), (5, 6))), np.pad(x, ((0, 0), (0, -len(x) % 5), (0, 0))),
    np.pad(x > 3, 2, mode="edge"), np.pad(x, ((1, 2), (3, 2), (4, 0)), "wrap"), np.pad(x, 9, "reflect"),
    np.pad(x, (7, 2), mode="symmetric"), np.pad(x[:1], 3, mode="reflect"), np.pad(x[:0], 1),
"""


def check(folder: Path, body: str, *inputs: np.ndarray) -> None:
    """Compare a kernel that returns expressions of `x` and `y` with NumPy."""
    kernel = kernel_of(folder, f"def forward(args):\n    x, y = args\n    {body}\n")
    wanted = [np.asarray(each) for each in kernel.function(inputs)]
    made = [np.full(each.shape, 7, each.dtype) for each in wanted]
    built = build(kernel, inputs, made)
    assert built.facts.form == "whole-array", built.facts.reason
    assert run(built, inputs, made) is None
    for at, (each, other) in enumerate(zip(made, wanted)):
        np.testing.assert_array_equal(each, other, err_msg=str(at))


def returning(expressions: str) -> str:
    return f"return ({' '.join(expressions.split())})"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "expressions",
    [_JOINED, _JOINED_MORE, _BLOCKS, _MOVED, _REPEATED, _PADDED],
    ids=["joined", "more", "blocks", "moved", "repeated", "padded"],
)
def test_values(tmp_path: Path, expressions: str) -> None:
    check(tmp_path, returning(expressions), X, Y)


def test_a_list_of_arrays_of_other_dtypes(tmp_path: Path) -> None:
    check(tmp_path, "return np.concatenate([x, y], axis=-1), np.pad(x, 1), np.roll(y, (1, -1), (1, 2))", X, Y)


@pytest.mark.thorough
def test_sections(tmp_path: Path) -> None:
    body = (
        "a, b = np.split(x, 2, -1)\n    c, d, e = np.array_split(x, 3, axis=2)\n    f, g, h = np.split(x, [1, -1], 2)"
    )
    rest = "np.hsplit(x, 3)[2], np.vsplit(x, [1])[0], np.dsplit(x, (9,))[0], np.split(x, [-1, 1], 2)[1]"
    check(tmp_path, f"{body}\n    return a, b, c, d, e, f, g, h, {rest}, np.array_split(x[0, 0], 6)[5]", X, Y)


@pytest.mark.thorough
def test_numbers_that_are_not_finite(tmp_path: Path) -> None:
    expressions = "np.hstack((x, y)), np.pad(x, 1, constant_values=np.nan), np.pad(x, 1, 'edge'), np.roll(x, 1, 0)"
    check(tmp_path, f"return {expressions}", FLOATS, Y[0, :2])


@pytest.mark.parametrize(
    "expression",
    [
        "np.split(x, 2, 1)[0]",
        *thorough("np.pad(x, -len(x))", "np.concatenate((x, x[:1]), 2)", "np.repeat(x, np.array([1, 2]), 1)"),
        *thorough("np.repeat(x, np.array([1, -2]), 0)"),
    ],
)
def test_what_does_not_fit_is_an_error(tmp_path: Path, expression: str) -> None:
    kernel = kernel_of(tmp_path, f"def forward(args):\n    (x,) = args\n    return np.sort({expression})\n")
    made = [np.zeros_like(X)]
    assert "forward raised ValueError" in str(run(build(kernel, [X], made), [X], made))
