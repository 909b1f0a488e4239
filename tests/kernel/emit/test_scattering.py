"""Fused kernels that combine elements at computed places, beside NumPy: values, the form, missing places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

RNG = np.random.default_rng(37)
BODY = """
x, i, v = args
n, c, w = x.shape
y = {start}
np.{function}.at(y, {index}, {value})
return {result}
"""


def check(folder: Path, body: str, *inputs: np.ndarray, form: str = "fused") -> None:
    """Check the form of a kernel, and that its values and dtypes are NumPy's."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    function = kernel_of(folder, f"def forward(args):\n{lines}")
    given = function.function(inputs)
    wanted = [np.asarray(each) for each in (given if isinstance(given, tuple) else (given,))]
    made = [np.full(each.shape, 7, each.dtype) for each in wanted]
    built = build(function, inputs, made)
    assert built.facts.form == form, built.facts.reason
    assert run(built, inputs, made) is None
    for ours, right in zip(made, wanted):
        np.testing.assert_allclose(ours, right, rtol=1e-4, atol=1e-4)


def body(index: str, value: str, start: str = "np.zeros(w, x.dtype)", function: str = "add", result: str = "y") -> str:
    """Return a body that combines values with an array at an index."""
    return BODY.format(index=index, value=value, start=start, function=function, result=result)


BODIES = [
    body("i", "v"),
    body("i", "v * 2", result="y, v + 1, y.sum() * x"),
    body("(np.arange(n)[:, None], i)", "v * 2", "np.zeros((n, w), x.dtype)", result="(y + 1).reshape(-1)"),
    body("(slice(None), i[0])", "v", "np.zeros((n, w), x.dtype)"),
    body("(..., i)", "v", "np.zeros_like(x)", result="y * 2"),
    body("(slice(None), slice(None), i[0])", "v[:, None]", "x * 2", "maximum", "y, v.sum(axis=1)"),
    body("(i % n, i % c, i)", "1 + v * v", "np.ones_like(x)", "multiply"),
    body("np.stack((i, -i % w))", "np.stack((v, v + 1))"),
    body("i", "1", "np.zeros(w, np.int64)"),
    body("i", "v", result="y").replace("return", "np.add.at(y, i % w, v * v)\nreturn"),
]


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 2, 7), (3, 300), (3, 300)),
        *(
            pytest.param(each, marks=pytest.mark.thorough)
            for each in (
                ((3, 2, 7), (3, 5), (1, 5)),
                ((1, 2, 7), (1, 5), (1, 1)),
                ((3, 2, 7), (3, 0), (3, 1)),
                ((3, 1, 1), (3, 40), (3, 40)),
            )
        ),
    ],
)
def test_elements_at_places(tmp_path: Path, shapes: tuple[tuple[int, ...], ...]) -> None:
    x, i, v = (RNG.standard_normal(each).astype(np.float32) for each in shapes)
    places = RNG.integers(-x.shape[2], x.shape[2], i.shape)
    for at, text in enumerate(BODIES):
        check(tmp_path / str(at), text, x, places, v)


GRADIENT_OF_BILINEAR = """
dy, x, places = args
n, c, h, w = x.shape
py, px = places[..., 0], places[..., 1]
y0, x0 = np.floor(py), np.floor(px)
batch, g = np.arange(n)[:, None, None], dy.transpose(0, 2, 3, 1)
dx, dpy, dpx = np.zeros_like(x), np.zeros_like(py), np.zeros_like(px)
for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
    iy, ix = y0 + down, x0 + right
    wy, wx = 1 - np.abs(py - iy), 1 - np.abs(px - ix)
    inside = (iy >= 0) & (iy < h) & (ix >= 0) & (ix < w)
    iy, ix = np.clip(iy, 0, h - 1).astype(np.int64), np.clip(ix, 0, w - 1).astype(np.int64)
    np.add.at(dx, (batch, slice(None), iy, ix), np.where(inside, wx * wy, 0)[..., None] * g)
    d = np.where(inside, (g * x[batch, :, iy, ix]).sum(axis=-1), 0)
    dpy += d * (wx if down else -wx)
    dpx += d * (wy if right else -wy)
return dx, np.stack((dpy, dpx), axis=-1)
"""


def test_the_gradient_of_an_interpolation(tmp_path: Path) -> None:
    dy, x = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 21, 17), (2, 3, 8, 9)))
    check(tmp_path, GRADIENT_OF_BILINEAR, dy, x, RNG.uniform(-1, 9, (2, 21, 17, 2)).astype(np.float32))


def test_a_single_element_beside_many(tmp_path: Path) -> None:
    i, v, w = np.array([[1]]), np.ones((1, 1), np.float32), np.ones((1, 5), np.float32)
    check(tmp_path, "i, v, w = args\ny = np.zeros(3, v.dtype)\nnp.add.at(y, i, v)\nreturn y, v * w, i + w", i, v, w)


def test_places_that_do_not_exist(tmp_path: Path) -> None:
    kernel = kernel_of(
        tmp_path, "def forward(args):\n    i, v = args\n    y = np.zeros(4)\n    np.add.at(y, i, v)\n    return y\n"
    )
    i, v, y = np.arange(-4, 4).repeat(5), np.ones(40), np.zeros(4)
    built = build(kernel, [i, v], [y])
    assert built.facts.form == "fused", built.facts.reason
    for place, outside in ((0, 4), (39, -5), (17, 2**40)):
        wrong = i.copy()
        wrong[place] = outside
        assert "out of bounds" in str(run(built, [wrong, v], [y]))
    assert run(built, [i, v], [y]) is None
    np.testing.assert_array_equal(y, 10)
    assert "out of bounds" in str(run(built, [i + 4, v], [y]))


@pytest.mark.parametrize(
    "text",
    [
        body("i", "v.astype(np.float64)"),
        body("(i[0] % n,)", "1", "np.zeros((n, w), x.dtype)"),
    ],
)
@pytest.mark.thorough
def test_other_elements_are_left_to_other_forms(tmp_path: Path, text: str) -> None:
    x, i, v = np.ones((2, 3, 5), np.float32), RNG.integers(0, 5, (2, 9)), np.ones((2, 9), np.float32)
    check(tmp_path, text, x, i, v, form="whole-array")
