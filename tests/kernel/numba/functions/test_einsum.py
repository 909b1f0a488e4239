"""`np.einsum`: sums, diagonals, views and products of several operands; the values, shapes and dtypes are NumPy's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run
from quick import thorough

RNG = np.random.default_rng(6)

SINGLE = ("ij->ji", "ii->i", "ii", "ij->j", "ij->", "ij", "ji", "...j->j...", "i...->...", " i j -> j i ")
PAIRS = (
    "ij,jk",
    "ij,kj->ki",
    "ij,ij->i",
    "ij,ij",
    "ij,ji->ij",
    "i...,j...->ji...",
    "ii,ij->j",
    "ij,kl->lj",
)
MORE = ("ij,jk,kl", "ij,kj,lk->", "i...,...j,ij->i", "ij,ij,ij->ij", "ab,bc,cd->ad")
RANKS = (
    "bhqd,bhkd->bhqk",
    "bqhd,bkhd->bhqk",
    "bhqd,...d->h...b",
    "bhqd,bhqd->hb",
    "bhqd,bkqd->kh",
    "...ij,...kj->...ik",
)


def check(folder: Path, body: str, *inputs: np.ndarray) -> None:
    """Compare a kernel of `x`, `y` and `z` with its plain run, on these arrays."""
    names = "".join(f"{name}, " for name, _ in zip("xyz", inputs))
    kernel = kernel_of(folder, f"def forward(args):\n    {names}= args\n    {body}\n")
    found = kernel.function(inputs)
    wanted = [np.asarray(each) for each in (found if isinstance(found, tuple) else (found,))]
    made = [np.full(each.shape, 7, each.dtype) for each in wanted]
    built = build(kernel, inputs, made)
    assert built.facts.form == "whole-array" and not built.facts.python_calls, built.facts.reason
    assert run(built, inputs, made) is None
    for each, other in zip(made, wanted):
        tolerance = {4: 1e-5, 8: 1e-12}.get(other.itemsize, 0) * (other.dtype.kind == "f")
        np.testing.assert_allclose(each, other, rtol=tolerance, atol=tolerance * 100)


def calls(subscripts: tuple[str, ...], operands: str) -> str:
    return "return " + ", ".join(f"np.einsum('{each}', {operands})" for each in subscripts)


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    made = RNG.standard_normal(shape) * 10
    return (made > 2) if dtype == "?" else made.astype(dtype)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["f4", "?"])
def test_one_operand(tmp_path: Path, dtype: str) -> None:
    check(tmp_path, calls(SINGLE, "x.T"), numbers((5, 5), dtype))


@pytest.mark.parametrize("dtypes", [("f8", "f8"), *thorough(("f4", "u1"))])
def test_two_operands(tmp_path: Path, dtypes: tuple[str, str]) -> None:
    check(tmp_path, calls(PAIRS, "x, y.T"), numbers((7, 7), dtypes[0]), numbers((7, 7), dtypes[1]))


@pytest.mark.thorough
def test_several_operands(tmp_path: Path) -> None:
    check(tmp_path, calls(MORE, "x, y, x[::-1], optimize=True"), *(numbers((6, 6), "f8") for _ in "xy"))


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (1, 1, 5, 1), (2, 0, 5, 3), (16, 2, 16, 2)])
def test_many_axes(tmp_path: Path, shape: tuple[int, ...]) -> None:
    check(tmp_path, calls(RANKS, "x, x[:, ::-1]"), numbers(shape, "f8"))


@pytest.mark.thorough
def test_lengths_of_one_are_broadcast_and_no_others(tmp_path: Path) -> None:
    x, y = numbers((3, 1), "f8"), numbers((4, 5), "f8")
    check(tmp_path, calls(("ij,jk", "ij,jk->ki", "ij,jk->"), "x, y"), x, y)
    for body in ("np.einsum('ij,ij->i', x, y)", "np.einsum('ii->i', y)"):
        kernel = kernel_of(tmp_path / body, f"def forward(args):\n    x, y = args\n    return {body}\n")
        built = build(kernel, [x, y], [x[:, 0]])
        assert built.facts.form == "whole-array"
        assert "ValueError" in str(run(built, [x, y], [np.empty(3)]))


@pytest.mark.thorough
def test_options(tmp_path: Path) -> None:
    body = (
        "z = np.zeros((4, 3)); w = z[:, ::2]; v = z.copy()\n"
        "    np.einsum('ij,j->i', x, y, out=w[:, 0]); np.einsum('ij->ij', v)[:, 1] = 5\n"
        "    return z, v, np.einsum('ij,i->j', x[:3].T, y, dtype=np.float64, order='C', casting='same_kind')"
    )
    check(tmp_path, body, numbers((4, 3), "f8"), numbers((3,), "f8"))
