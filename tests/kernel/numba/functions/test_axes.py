"""Views with other axes, repeated elements and counts in compiled kernels, beside NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

RNG = np.random.default_rng(11)
X = RNG.standard_normal((3, 4, 1, 5)).astype(np.float32)
WHOLE = RNG.integers(0, 9, (4, 5))


def compare(folder: Path, body: str, inputs: Sequence[np.ndarray]) -> None:
    """Compare a compiled kernel of ``x, y, ... = args`` with NumPy: its values and dtypes."""
    names = "".join(f"{name}, " for name, _ in zip("xyz", inputs))
    kernel = kernel_of(folder, f"def forward(args):\n    {names}= args\n    {body}\n")
    found = kernel.function(tuple(inputs))
    wanted = [np.asarray(each) for each in (found if isinstance(found, tuple) else (found,))]
    made = [np.empty(each.shape, each.dtype) for each in wanted]
    built = build(kernel, inputs, made)
    assert built.facts.form == "whole-array" and not built.facts.python_calls, built.facts.reason
    assert run(built, inputs, made) is None
    for ours, numpys in zip(made, wanted):
        np.testing.assert_allclose(ours, numpys, rtol=1e-6)


def failure(folder: Path, body: str, inputs: Sequence[np.ndarray], output: np.ndarray) -> str:
    """What a compiled kernel reports."""
    names = "".join(f"{name}, " for name, _ in zip("xyz", inputs))
    kernel = kernel_of(folder, f"def forward(args):\n    {names}= args\n    {body}\n")
    built = build(kernel, inputs, [output])
    assert built.facts.form == "whole-array", built.facts.reason
    return str(run(built, inputs, [output]))


@pytest.mark.thorough
def test_views(tmp_path: Path) -> None:
    compare(
        tmp_path,
        "z = np.sort(x, axis=-1)\n"
        "    return (np.moveaxis(z, 0, -1), np.moveaxis(z, (0, -1), (2, 0)), z.swapaxes(1, -1),"
        "np.squeeze(z, axis=2), z.squeeze((-2,)), np.expand_dims(z[0, 0], (0, -1)), np.swapaxes(z, 0, 1)[1:, ::-1],"
        "np.broadcast_to(y, (2,) + y.shape), np.broadcast_to(y[:, :1], (4, 7)))",
        [X, WHOLE],
    )


@pytest.mark.thorough
def test_diagonals_and_grids(tmp_path: Path) -> None:
    compare(
        tmp_path,
        "a, b, c = np.meshgrid(y[0], np.sort(x[0, :, 0, 0]), z)\n"
        "    d, e = np.meshgrid(z, y[0], indexing='ij', sparse=True)\n"
        "    return (a, b, c, d, e, np.meshgrid(z)[0], np.diagonal(y, -1), x.diagonal(1, 3, 0), np.diagonal(y, len(z)),"
        "np.diagonal(x, axis1=-1, axis2=1) * 2)",
        [X, WHOLE, np.arange(7)],
    )


@pytest.mark.thorough
def test_repeated(tmp_path: Path) -> None:
    compare(
        tmp_path,
        "n = len(x)\n    return (x.repeat(2, axis=1), np.repeat(y, 3), np.repeat(x, n, axis=-1), np.repeat(y, 0, 0),"
        "np.tile(x, (2, 1, 1, 1, 3)), np.tile(y, 2), np.tile(y[::2].T, (n, 2)), np.tile(y, (1, 0)), np.sort(y, 0))",
        [X, WHOLE],
    )


def test_counts(tmp_path: Path) -> None:
    places = WHOLE.ravel() % 4
    compare(
        tmp_path,
        "a = np.zeros((4, 3))\n    np.add.at(a, y, x)\n    b = np.full(4, -np.inf, np.float32)\n"
        "    np.maximum.at(b, y, x[:, 0].astype(np.float32))\n"
        "    c = np.zeros(4, np.int64)\n    np.add.at(c, y - 4, 2)\n"
        "    return a, b, c, np.bincount(y, minlength=6), np.bincount(y, x[:, 1], 4), np.bincount(y[:0])",
        [RNG.standard_normal((20, 3)), places],
    )
    compare(
        tmp_path,
        "return np.average(x, axis=1, weights=y), np.average(x), np.average(z, 0, z + 1), np.average(z, weights=z)",
        [RNG.standard_normal((6, 4)), np.arange(4.0), WHOLE],
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("np.squeeze(np.sort(x, 0), axis=1)", "cannot select an axis to squeeze out which has size not equal to one"),
        ("np.broadcast_to(np.sort(y, 0), (3, 5))", "could not be broadcast"),
        ("np.repeat(np.sort(y, 0), -len(x), axis=1)", "negative"),
        ("np.bincount(y[0] - 9)[:4]", "must have no negative elements"),
    ],
)
def test_mistakes(tmp_path: Path, body: str, said: str) -> None:
    ranks = {"np.squeeze": 3, "np.bincount": 1}
    output = np.zeros((4, 5, 3)[: ranks.get(body[: body.index("(")], 2)], X.dtype if "squeeze" in body else np.int64)
    assert said in failure(tmp_path, f"return {body}", [X, WHOLE], output)


def test_several_indices_at_which_to_add(tmp_path: Path) -> None:
    compare(
        tmp_path,
        "a = np.zeros((3, 4, 5), np.float32)\n    np.add.at(a, (y, slice(None), z), x)\n"
        "    b = np.ones((4, 5, 3))\n    np.multiply.at(b.T, (y, 2, slice(1, None, 2)), x[0, :, :2].sum())\n"
        "    np.subtract.at(b, (slice(1, 3), z[0]), b[2, :1])\n"
        "    c = np.zeros((4, 5), np.int64)\n    np.add.at(c, c < 1, 3)\n"
        "    np.maximum.at(c, (y[:, 0], -1), z[:, 1] + 9)\n"
        "    return a, b, c",
        [RNG.standard_normal((2, 4, 4)).astype(np.float32), RNG.integers(-3, 3, (2, 4)), RNG.integers(0, 5, (2, 4))],
    )


def test_an_index_that_is_not_there(tmp_path: Path) -> None:
    body = "z = np.sort(np.zeros(3))\n    np.add.at(z, x, 1)\n    return z"
    assert "index 4 is out of bounds" in failure(tmp_path, body, [np.array([0, 4])], np.zeros(3))
