"""Straight-line code of kernels that numba compiles becomes fused kernels: NumPy's values, dtypes and errors."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

from pykernels.kernel.expression import promotion
from pykernels.kernel.numba.parts import calling as part_calls
from pykernels.kernel.numba.rewriting import outlining

RNG = np.random.default_rng(3)
X, M = RNG.standard_normal((2, 3, 4, 5)).astype(np.float32), RNG.standard_normal((4, 1)).astype(np.float32)
WHOLE = RNG.integers(-9, 9, (4, 5)).astype(np.int32)
HELPER = "def soft(x, by):\n    e = np.exp((x - x.max()) * by)\n    return e / e.sum()\n"


def fused_in(folder: Path, body: str, *inputs: np.ndarray) -> int:
    """Compare a compiled kernel with NumPy; return how many fused kernels were made for it."""
    kernel = kernel_of(folder, f"{HELPER}def forward(args):\n    x, m = args\n    {body}\n")
    wanted = kernel.function(inputs)
    wanted = [np.asarray(each) for each in (wanted if isinstance(wanted, tuple) else (wanted,))]
    made = [np.empty(each.shape, each.dtype) for each in wanted]
    before = len(part_calls.PARTS)
    built = build(kernel, inputs, made)
    assert built.facts.form == "whole-array", built.facts.reason
    assert run(built, inputs, made) is None
    for ours, numpys in zip(made, wanted):
        np.testing.assert_allclose(ours, numpys, rtol=1e-5, atol=1e-6)
    return len(part_calls.PARTS) - before


# Every test compiles, since it counts what is made.
pytestmark = pytest.mark.usefixtures("new_cache")


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("i = np.argmax(x)\n    return (x - m) * 2 + np.tanh(x) * i, x / (1 + m * m)", 1),
        ("y = np.sort((x * m + 1 - x).ravel())\n    return np.exp(y) * y - 1, (y * 2 - 1) / 3", 2),
        ("y = np.flip(x, 0)\n    n = y.shape[1]\n    z = y * n / 3 + m\n    return z, z.sum(), np.sort(z.ravel())", 1),
        ("y = np.sort(x.ravel())[::2]\n    y *= 2\n    z = y\n    z += 1\n    return y * y - z, z / 3", 1),
        ("y = np.roll(x, 1)\n    z = y + soft(x, 0.5) * m\n    return z, np.argmax(z)", 1),
    ],
    ids=["several results", "before and after", "numbers", "changed in place", "a helper"],
)
@pytest.mark.thorough
def test_values(tmp_path: Path, body: str, count: int) -> None:
    assert fused_in(tmp_path, body, X, M) == count


LOOP = """
def forward(args):
    x, m, powers = args
    step, total, count = np.ones_like(x), 0.0, 0
    z = np.abs(x) + 1
    while np.abs(step).max() > 1e-3:
        step = (z * z - np.abs(x) - 1) / (2 * z)
        z = z - step
        count = 2 * count + 1 - count // 2
        if count > 1000:
            break
    w = np.zeros_like(x)
    for power, number in zip(powers, powers[::-1]):
        before = w
        w += z ** power * number - m
        a, b = 1.5 * number * power + 1, power * power - 2
        if a < b:
            continue
        total += a - b * 0.5 + number
    return z, w, before + w, np.float64(total + count)
"""


@pytest.mark.thorough
def test_loops_over_whole_arrays_have_parts(tmp_path: Path) -> None:
    kernel, inputs = kernel_of(tmp_path, LOOP), [X, M, np.linspace(0, 2.5, 7)]
    wanted = [np.asarray(each) for each in kernel.function(inputs)]
    made = [np.empty(each.shape, each.dtype) for each in wanted]
    before = len(part_calls.PARTS)
    built = build(kernel, inputs, made)
    assert built.facts.form == "loops", built.facts.reason
    assert len(part_calls.PARTS) - before == 2
    assert run(built, inputs, made) is None
    for ours, numpys in zip(made, wanted):
        np.testing.assert_allclose(ours, numpys, rtol=1e-5, atol=1e-5)


def test_matrix_products_end_lines(tmp_path: Path) -> None:
    lines = "y = x[0, 0] @ x[1, 1].T * 2 - x[0, 0, :, 0] / 3\n    y = 1 / (y @ y + m)\n    return y / 3 + y * m"
    assert fused_in(tmp_path, lines, np.abs(X), np.abs(M)) == 2


@pytest.mark.thorough
def test_many_refused_statements(tmp_path: Path) -> None:
    lines = [f"x = np.cumsum(x, 1)\n    x = x / 9 + {by} - x / 7" for by in range(12)]
    assert fused_in(tmp_path, "\n    ".join([*lines, "return x * m + 1"]), X, M) > 1


def test_a_single_statement_is_fused(tmp_path: Path) -> None:
    body = "i = np.argmax(x)\n    return np.select([x > 1, x > m], [x * 2.0, 0.5], 0.25), i"
    assert fused_in(tmp_path, body, X, M) == 1


def test_a_sum_of_products_is_fused(tmp_path: Path) -> None:
    assert fused_in(tmp_path, "y = np.sort(x, 0)\n    return np.flip((y * m).sum(axis=0)), np.argmax(y)", X, M) == 1


@pytest.mark.thorough
def test_sums_that_share_memory(tmp_path: Path) -> None:
    body = """y = np.sort(x, 0)
    z = (y * m - 1).sum(axis=0)
    w = z[None]
    w[0] += 1
    return z, w, np.argmax(y)"""
    fused_in(tmp_path, body, X, M)


def test_dtypes_of_numbers(tmp_path: Path) -> None:
    body = (
        "k = np.argmax(x)\n    half = 1 / x.shape[0]\n    low = x.min()\n    y = (x + k - low) * half // 2\n"
        "    return y, (x * 2 + 1 - m) * 3, np.sort(x.ravel())"
    )
    assert fused_in(tmp_path, body, WHOLE, WHOLE[:1]) > 0
    assert fused_in(tmp_path, body, X, M) > 0


def test_nothing_is_computed_for_arrays_without_elements(tmp_path: Path) -> None:
    assert fused_in(tmp_path, "y = np.sort(x.ravel())\n    return (y * 2 + 1) / 3, (x * m - 1) * 2", X[:0], M) > 0


def test_shapes_that_do_not_fit(tmp_path: Path) -> None:
    text = "def forward(args):\n    x, m = args\n    y = np.flip(x, 0)\n    return (y * 2 + m) * y - 1\n"
    inputs = [X, RNG.standard_normal((3, 1)).astype(np.float32)]
    made = [X.copy()]
    message = run(build(kernel_of(tmp_path, text), inputs, made), inputs, made)
    assert message is not None
    assert "op_py_kernel.py:6" in message
    assert "could not be broadcast together" in message


def test_nothing_is_fused_without_objcopy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pykernels.build.linking.find_objcopy", lambda: None)
    assert fused_in(tmp_path, "y = np.sort(x.ravel())\n    return y * y * 2 - y, m", X, M) == 0


def outlined(text: str) -> tuple[str, list[outlining.Lines]]:
    """The definition after outlining, and the lines that it calls."""
    (definition,) = ast.parse(text).body
    assert isinstance(definition, ast.FunctionDef)
    found: list[outlining.Lines] = []

    def call(lines: outlining.Lines) -> str:
        found.append(lines)
        return f"lines{len(found)}"

    weak = promotion.find_numbers(definition, ())
    made = outlining.outline(definition, weak, call, 3)
    return ast.unparse(ast.fix_missing_locations(made)), found


def test_what_is_outlined() -> None:
    text, (lines,) = outlined(
        "def f(args):\n    x, m = args\n    if x.ndim > 2:\n        raise ValueError\n    n = len(x)\n"
        "    y = np.sort(x * m + 1)\n    for i in range(n):\n        y[i] = 2 * y[i] * m\n    return y\n"
    )
    assert lines.taken == ("m", "x")
    assert lines.given == ("n", "y")
    assert "\n".join(map(ast.unparse, lines.statements)).splitlines() == [
        "n = len(x)",
        "__pykernels_value_0 = x * m + 1",
        "y = np.sort(__pykernels_value_0)",
    ]
    assert "__pykernels_number_n, y = lines1(m, x)\n    n = __pykernels_number_n" in text.replace("(__", "__").replace(
        "y)", "y"
    )


@pytest.mark.parametrize(
    "body",
    [
        "y = [i * 2 + 1 - i for i in x]",
        "y = (z := x * 2 + 1) - 3 * z",
        "y = x * 2 + 1",
        "y = x\n    z = y, x",
        "y = np.random.rand(3) * 2 + np.random.rand(3)",
    ],
)
def test_what_is_not_outlined(body: str) -> None:
    text = f"def f(x):\n    {body}\n    return y\n"
    assert outlined(text)[1] == []
