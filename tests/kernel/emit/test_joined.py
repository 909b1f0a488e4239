"""Fused kernels of joined arrays, beside NumPy."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run
from test_views import check, numbers

from pykernels.base.errors import PykernelsWarning

HALVES = """
(x, cos, sin) = args
half = x.shape[-1] // 2
x1, x2 = x[..., :half], x[..., half:]
return np.concatenate((x1 * cos - x2 * sin, x2 * cos + x1 * sin), axis=-1)
"""
INTERLEAVED = """
(x, cos, sin) = args
x1, x2 = x[..., ::2], x[..., 1::2]
return np.stack((x1 * cos - x2 * sin, x2 * cos + x1 * sin), axis=-1).reshape(*x.shape[:-1], -1)
"""


@pytest.mark.parametrize("body", [HALVES, INTERLEAVED])
def test_rotary_embeddings(tmp_path: Path, body: str) -> None:
    for shape in ((2, 3, 20, 16), (40, 2), (3, 1, 1800)):
        half = (shape[-2], shape[-1] // 2)
        check(tmp_path, body, numbers(*shape), numbers(*half), numbers(*half))


def test_arrays_that_are_joined_at_different_places_are_not_fused(tmp_path: Path) -> None:
    text = "x, y = args\n    return np.concatenate((x, y), 1) * 2 + np.concatenate((y, x), 1)"
    kernel = kernel_of(tmp_path, f"def forward(args):\n    {text}\n")
    inputs = [numbers(3, 4), numbers(3, 5)]
    made = [np.empty((3, 9), np.float32)]
    built = build(kernel, inputs, made)
    assert built.facts.form == "whole-array"
    assert "arrays that may be joined at different places" in built.facts.reason
    assert run(built, inputs, made) is None
    np.testing.assert_allclose(made[0], kernel.function(tuple(inputs)), rtol=1e-6)


@pytest.mark.parametrize("shapes", [((5, 7), (5, 3)), ((70, 400), (70, 33)), ((1, 1), (1, 4)), ((3, 4), (3, 0))])
def test_operations_on_what_is_joined(tmp_path: Path, shapes: tuple[tuple[int, int], ...]) -> None:
    body = """
(x, y) = args
j = np.concatenate((x, y), axis=1)
e = np.exp(j - j.max(axis=1, keepdims=True))
return (
    e / e.sum(axis=-1, keepdims=True), j.sum(axis=0), j.T + 1, j[::-1] * x[:, :1], j[:, None] > 0, j.mean(),
    np.where(np.arange(x.shape[0])[:, None] > 1, j, np.zeros_like(j)), (j * np.concatenate([x, y], axis=-1)).std(0),
)
"""
    check(tmp_path, body, *(numbers(*shape) for shape in shapes))


@pytest.mark.parametrize("dtypes", [(np.float32, np.float64), (np.int32, np.int8), (np.bool_, np.float16)])
def test_functions_that_join(tmp_path: Path, dtypes: tuple[type, ...]) -> None:
    body = """
(x, y) = args
return (
    np.stack((x, y)), np.stack((x, y), axis=1), np.vstack([x, y]), np.hstack([x, y, x]), np.stack((x.max(), y.max())),
    np.concatenate((np.concatenate((y, x), axis=1), np.concatenate((x, x), axis=1))), np.stack((x[0], y[1]), -1),
)
"""
    check(tmp_path, body, *(numbers(6, 5, dtype=dtype) for dtype in dtypes))


@pytest.mark.parametrize("dtype", [np.int8, np.float64])
def test_elements_of_several_arrays_take_turns(tmp_path: Path, dtype: type) -> None:
    body = """
(x, y) = args
return (
    np.stack((x, y), -1), np.stack((x[:, ::-1], y, x, x), axis=-1), np.stack((x, x, y), axis=2),
    np.stack([x[:, 0], x[:, 2], x[:, 4], y[:, 1], y[:, 0]], axis=1), np.stack((x.T, x.T), -1),
)
"""
    check(tmp_path, body, numbers(7, 5, dtype=dtype), numbers(7, 5, dtype=dtype))


@pytest.mark.parametrize("shape", [(6, 8), (3, 2), (300, 1000), (0, 4)])
def test_functions_that_split(tmp_path: Path, shape: tuple[int, int]) -> None:
    body = """
(x,) = args
a, b = np.split(x, 2, axis=-1)
c, d, _ = np.split(x * 2, [2, -1], axis=1)
turned = np.roll(x, 1, axis=(0, -1)), np.roll(x, (2, -1), axis=(1, 0)) * 2
return a / (1 + np.exp(-b)), c, d, np.roll(x, 1, 0) - x, np.roll(x * 2, -5, axis=1), np.roll(x.sum(axis=1), 7), *turned
"""
    check(tmp_path, body, numbers(*shape))


def test_pieces_of_what_is_joined(tmp_path: Path) -> None:
    function = kernel_of(tmp_path, "def forward(args):\n    x, y = args\n    return np.concatenate((x * 2, y), axis=1)")
    x, y = numbers(90, 50), numbers(90, 7)
    made = np.zeros((90, 57), np.float32)
    built = build(function, [x, y], [made])
    for begin in range(0, made.size, 700):
        assert run(built, [x, y], [made], elements=(begin, min(begin + 700, made.size))) is None
    np.testing.assert_array_equal(made, function.function((x, y)))


@pytest.mark.parametrize("lengths", [(1, 0, 4), (0, 1, 1), (2, 1, 1), (2, 1, 3), (0, 0, 1), (0, 1, 0)])
def test_what_is_joined_is_broadcast_with_others(tmp_path: Path, lengths: tuple[int, int, int]) -> None:
    body = """
(x, y, z) = args
j = np.concatenate((x, y), axis=1)
return j * z + 1, (z - j).sum(axis=1), np.where(z > 0, j, z[:, :1])
"""
    check(tmp_path, body, *(numbers(3, length) for length in lengths))


def test_arrays_that_cannot_be_joined(tmp_path: Path) -> None:
    function = kernel_of(tmp_path, "def forward(args):\n    x, y = args\n    return np.concatenate((x * 2, y), axis=1)")
    built = build(function, [numbers(3, 4), numbers(3, 4)], [numbers(3, 8)])
    assert built.facts.form == "fused"
    assert "must match exactly" in (run(built, [numbers(3, 4), numbers(1, 4)], [numbers(3, 8)]) or "")
    for lengths in ((2, 1, 6), (0, 0, 2)):
        text = "x, y, z = args\n    return np.concatenate((x, y), axis=1) * z"
        function = kernel_of(tmp_path, f"def forward(args):\n    {text}\n")
        inputs = [numbers(3, length) for length in lengths]
        assert "broadcast" in (run(build(function, inputs, inputs[2:]), inputs, [numbers(3, lengths[2])]) or "")
    function = kernel_of(tmp_path, "def forward(args):\n    a, b = np.split(args[0] + 1, 2)\n    return a.sum() * b")
    built = build(function, [numbers(4)], [numbers(2)])
    assert built.facts.form == "fused"
    assert "equal division" in (run(built, [numbers(5)], [numbers(2)]) or "")


@pytest.mark.parametrize("body", ["x[[1, 0]]", "np.concatenate((x, x))[1:]"])
def test_what_cannot_be_expressed_is_right(tmp_path: Path, body: str) -> None:
    function = kernel_of(tmp_path, f"def forward(args):\n    (x,) = args\n    return {body} + x.sum()")
    x = numbers(4, 3)
    made = np.zeros_like(function.function((x,)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PykernelsWarning)
        built = build(function, [x], [made])
    assert (built.facts.form != "fused", run(built, [x], [made])) == (True, None)
    np.testing.assert_allclose(made, function.function((x,)), rtol=1e-4)
