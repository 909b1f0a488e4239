"""Fused kernels of parts, transposed and reversed arrays, beside NumPy: values, dtypes and the form."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

RNG = np.random.default_rng(23)


def check(folder: Path, body: str, *inputs: np.ndarray) -> None:
    """Check that a kernel is fused, and that its values and dtypes are NumPy's."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    function = kernel_of(folder, f"def forward(args):\n{lines}")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        given = function.function(inputs)
    wanted = [np.asarray(each) for each in (given if isinstance(given, tuple) else (given,))]
    made = [np.full(each.shape, 7, each.dtype) for each in wanted]
    built = build(function, inputs, made)
    assert built.facts.form == "fused", built.facts.reason
    assert run(built, inputs, made) is None
    for ours, right in zip(made, wanted):
        digits = {2: 2e-3, 4: 2e-5, 8: 1e-12}[right.dtype.itemsize] if right.dtype.kind == "f" else 0
        np.testing.assert_allclose(ours, right, rtol=digits, atol=digits)


def numbers(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return (4 * RNG.standard_normal(shape)).astype(dtype)


PARTS = """
(x,) = args
half = x.shape[-1] // 2
y = x * 2
return (
    x[::-1] * 2 + x.sum(), x[:, ::-2] - 1, y[1:, 2:] + x[:-1, :-2], np.flip(x, 0), np.flip(y), x.reshape(-1)[::2],
    x[1:, None][::2, 0], np.exp(x)[..., :half] + x[..., half : 2 * half], x[-3:-1:1, -2:0:-1],
    (x - x.max(axis=1, keepdims=True, initial=0))[:, 2::3], y[:, x.shape[1] - 8 :], y[..., -half:],
)
"""
TRANSPOSED = """
(x,) = args
e = np.exp(x - x.max(axis=1, keepdims=True, initial=0))
return x.T + 1, x.T * x.T.sum(axis=0), (e / e.sum(axis=1, keepdims=True)).T[:, ::-1], x[::-1][::2][:, 1:].swapaxes(0, 1)
"""


@pytest.mark.parametrize("shape", [(4, 6), (70, 33), (1, 5), (0, 4), (5, 1)])
@pytest.mark.parametrize("body", [PARTS, TRANSPOSED])
def test_parts_and_transposed_arrays(tmp_path: Path, body: str, shape: tuple[int, ...]) -> None:
    check(tmp_path, body, numbers(*shape))


RESHAPED = [
    "(x * 2).reshape(n, 3, (a // 3) * b) + 1, (x + 1).reshape(x.size) + x.sum(), x.sum(axis=0).reshape(a * b) * 2",
    "(x - x.sum(axis=-1, keepdims=True)).reshape(n, a * b).max(axis=1, initial=0), np.flip((x > 0).reshape(n, a * b))",
    "np.stack((x, x + 1), axis=1).reshape(n, 2, a * b) - x.reshape(n, 1, a * b)",
    "np.stack((x, x * 2)).reshape(2, n * a, 1, b).sum(axis=0), np.stack((x > 0, x > 1)).reshape(2, -1)",
    "x.transpose(0, 2, 1).reshape(n * b, a) * 2, x.transpose(0, 2, 1).reshape(-1)[::-1]",
    "(x + 1).reshape(b, a, n) * w[:, None, None], (x * w).reshape(n, a * b)[:, 1:] - 1",
    "((x * w).reshape(n, 3, (a // 3) * b) * 2).reshape(n, a, b) * w + w",
]


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((3, 6, 8), np.float32),
        ((33, 9, 70), np.int16),
        *(pytest.param((n, 6, b), np.float64, marks=pytest.mark.thorough) for n in (0, 1, 3) for b in (1, 5)),
    ],
)
def test_computed_arrays_with_other_axes(tmp_path: Path, shape: tuple[int, ...], dtype: type) -> None:
    for at, line in enumerate(RESHAPED):
        body = f"x, w = args\nn, a, b = x.shape\nreturn {line}"
        check(tmp_path / str(at), body, numbers(*shape, dtype=dtype), numbers(shape[2], dtype=dtype))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, np.float64])
def test_dtypes(tmp_path: Path, dtype: type) -> None:
    body = "x.T, x[:, ::-3], x[:, ::3] * x[0, 0], x.T.max(axis=1), np.where(x.T > 0, x.T, x[0, 1])"
    check(tmp_path, f"(x,) = args\nreturn {body}", numbers(19, 150, dtype=dtype))


@pytest.mark.parametrize(
    "body",
    [
        "(x,) = args\nreturn x.transpose(0, 2, 1) * 2, x.swapaxes(-1, 0), np.transpose(x, (2, 0, 1))[..., None]",
        "(x,) = args\nreturn np.moveaxis(x, 0, -1) - x.sum(), np.moveaxis(x, (0, 1), (2, 0)), x.transpose((1, 0, 2))",
        "(x,) = args\nreturn x[:, None] - x, (x * x.mean(axis=-1, keepdims=True)).T[1:]",
        "(x,) = args\nreturn x[..., 0, None] - x[:, 1, None, :], np.expand_dims(x, 2)[:, 1] * x[0, 0, 0]",
    ],
)
def test_orders_of_axes(tmp_path: Path, body: str) -> None:
    check(tmp_path, body, numbers(3, 3, 5) if "None] - x," in body else numbers(3, 70, 5))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.uint8])
def test_transposed_arrays_of_many_rows(tmp_path: Path, dtype: type) -> None:
    for shape in ((70, 200), (200, 4), (3, 5000), (65, 129)):
        x = np.abs(numbers(*shape, dtype=dtype))
        y = np.ascontiguousarray(x.T[::-1])
        check(tmp_path, "x, y = args\nreturn x.T + y, np.stack((y.T, x[::-1]), -1), np.exp(y.T) * 2, y[::-1].T", x, y)


def test_reductions_of_what_is_transposed_later(tmp_path: Path) -> None:
    body = """
s, mask = args
s = np.where(mask[:, None, None, :], s, np.float32(-9))
e = np.exp(s - s.max(axis=-1, keepdims=True))
m = s - s.mean(axis=1, keepdims=True)
return (e / e.sum(axis=-1, keepdims=True)).transpose(0, 2, 1, 3), (m * s.max(axis=2)[:, :, None]).T
"""
    s, mask = numbers(2, 3, 5, 7), numbers(2, 7) > 0
    check(tmp_path, body, s, mask)
    check(tmp_path, "(s,) = args\nreturn s.transpose(0, 3, 1, 2) * s.max(-1)[:, None]", s)


def test_an_array_and_itself_transposed(tmp_path: Path) -> None:
    check(tmp_path, "(x,) = args\nreturn x + x.T, (x[:, None] - x)[..., 1:].max(axis=-1)", numbers(40, 40))


@pytest.mark.parametrize("shapes", [((5, 7), (1,)), ((5, 7), (5, 1)), ((5, 1), (5, 7)), ((1, 1), (5, 7))])
def test_parts_of_what_is_broadcast(tmp_path: Path, shapes: Sequence[tuple[int, ...]]) -> None:
    body = """
(x, b) = args
y = x + b
return y[..., 2:], (x * b)[-1], np.triu(x)[:, ::-1], y[:, x.shape[1] - 8 :], y[::-1, ::-3], np.zeros_like(y)[1:].T + 1
"""
    check(tmp_path, body, *(numbers(*shape) for shape in shapes))


def test_a_view_follows_a_change_in_place(tmp_path: Path) -> None:
    function = kernel_of(
        tmp_path,
        "def forward(args):\n    (x,) = args\n    y = x * 2\n    z = y[::2]\n    y += 1\n    return z - y.max()",
    )
    x = numbers(6, 4)
    made = np.zeros((3, 4), np.float32)
    built = build(function, [x], [made])
    assert run(built, [x], [made]) is None
    np.testing.assert_allclose(made, function.function((x,)), rtol=1e-5)


def test_an_index_past_the_end_is_an_error(tmp_path: Path) -> None:
    function = kernel_of(tmp_path, "def forward(args):\n    (x,) = args\n    return (x * x.sum())[:, 3]")
    built = build(function, [numbers(2, 4)], [np.zeros(2, np.float32)])
    assert built.facts.form == "fused"
    assert "out of bounds" in (run(built, [numbers(2, 3)], [np.zeros(2, np.float32)]) or "")
