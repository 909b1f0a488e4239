"""Fused kernels of elements at computed places, beside NumPy: values, the form, and places that do not exist."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

RNG = np.random.default_rng(31)


def check(folder: Path, body: str, *inputs: np.ndarray) -> None:
    """Check that a kernel is fused, and that its values and dtypes are NumPy's."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    function = kernel_of(folder, f"def forward(args):\n{lines}")
    given = function.function(inputs)
    wanted = [np.asarray(each) for each in (given if isinstance(given, tuple) else (given,))]
    made = [np.full(each.shape, 7, each.dtype) for each in wanted]
    built = build(function, inputs, made)
    assert built.facts.form == "fused", built.facts.reason
    assert run(built, inputs, made) is None
    for ours, right in zip(made, wanted):
        digits = (2e-3 if right.dtype == np.float16 else 1e-5) if right.dtype.kind == "f" else 0
        np.testing.assert_allclose(ours, right, rtol=digits)


INDEXES = [
    "x[..., i]",
    "x[:, i, j % 3, j.astype(np.int8)] > 0",
    "x[i % 2, :, :, j].transpose(4, 0, 3, 1, 2)[1:, ..., ::-1]",
    "x[np.arange(x.shape[0])[:, None, None], :, i % 3, -1 - j].sum(axis=2)",
    "x[i % 2, j, -1 - j, i.astype(np.int32)]",
    "x.reshape(2, 4, -1)[..., i * j] * x.reshape(-1)[i * 9][None, None]",
    "x.reshape(1, x.size)[:, i] + 1",
    "np.take_along_axis(x, j[:, None] + i[:, :1, None], axis=-1)",
    "np.where((i >= 0) & (i < 5), x[..., np.clip(i, 0, 4)], 0)",
]


@pytest.mark.parametrize("dtype", [np.float32, *(pytest.param(d, marks=pytest.mark.thorough) for d in "?bHed")])
def test_places_among_slices(tmp_path: Path, dtype: type) -> None:
    x = (4 * RNG.standard_normal((2, 4, 3, 5))).astype(dtype)
    i, j = RNG.integers(-3, 3, (2, 7, 3)), RNG.integers(0, 3, (2, 1, 3))
    for at, line in enumerate(INDEXES):
        check(tmp_path / str(at), f"x, i, j = args\nreturn {line}", x, i, j)


BILINEAR = """
x, places = args
n, c, h, w = x.shape
py, px = places[..., 0], places[..., 1]
y0, x0 = np.floor(py), np.floor(px)
y = np.zeros((n, c, places.shape[1], places.shape[2]), x.dtype)
batch = np.arange(n)[:, None, None]
for dy, dx in ((0, 0), (0, 1), (1, 0), (1, 1)):
    at_y, at_x = y0 + dy, x0 + dx
    weight = (1 - np.abs(py - at_y)) * (1 - np.abs(px - at_x))
    weight = np.where((at_y >= 0) & (at_y < h) & (at_x >= 0) & (at_x < w), weight, 0)
    at_y, at_x = np.clip(at_y, 0, h - 1).astype(np.int64), np.clip(at_x, 0, w - 1).astype(np.int64)
    y += weight[:, None] * x[batch, :, at_y, at_x].transpose(0, 3, 1, 2)
return y
"""


def test_interpolation(tmp_path: Path) -> None:
    x = RNG.standard_normal((2, 3, 8, 9)).astype(np.float32)
    check(tmp_path, BILINEAR, x, RNG.uniform(-1, 9, (2, 21, 17, 2)).astype(np.float32))


def test_places_that_do_not_exist(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    x, i = args\n    return x[:, i] * 2\n")
    x, i, y = np.ones((3, 4)), np.arange(-4, 4).repeat(5), np.zeros((3, 40))
    built = build(kernel, [x, i], [y])
    assert built.facts.form == "fused", built.facts.reason
    for place, outside in ((0, 4), (39, -5), (17, 2**40)):
        wrong = i.copy()
        wrong[place] = outside
        assert "out of bounds" in str(run(built, [x, wrong], [y]))
    assert run(built, [x, i], [y]) is None
    np.testing.assert_array_equal(y, 2)
    assert "out of bounds" in str(run(built, [x[:, :0].copy(), i], [y]))
    assert run(built, [x[:, :0].copy(), i[:0]], [y[:, :0].copy()]) is None


def test_arrays_without_elements(tmp_path: Path) -> None:
    x, i, none = np.ones((3, 100_000)), np.array([99_999]), np.zeros(0, np.int64)
    for at, (line, *given) in enumerate(
        (
            ("x[j, i] + 1", x, i, none),
            ("x[j, i], i * 2", x[:0], i, none),
            ("x[:, i] + j, j * 2, x.sum(axis=0)", x[:0], i, np.ones((1, 5))),
            ("x[..., i, j]", x[:, :, None][..., :0], i, none),
        )
    ):
        check(tmp_path / str(at), f"x, i, j = args\nreturn {line}", *map(np.ascontiguousarray, given))
