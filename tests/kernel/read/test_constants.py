"""Constants of a kernel's file are Python's numbers, in every form of a kernel."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

from pykernels.kernel.read import constants


@dataclass(frozen=True)
class Settings:
    eps: float = 0.5
    axes: tuple[int, ...] = (0, -1)


NAMES = {"EPS": -1.5, "SETTINGS": Settings(), "SIZES": {"k": 3, 4: "four"}, "SHAPE": (2, (3,)), "INF": float("inf")}
NAMES |= {"PLACES": [2, 0], "CHANGED": [1]}
NAMES |= {"NUMBER": np.float32(2), "Settings": Settings, "np": np, "math": math}


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("x + EPS", "x + -1.5"),
        ("x.sum(SETTINGS.axes) / SETTINGS.eps", "x.sum((0, -1)) / 0.5"),
        ("SIZES['k'] * SIZES[4]", "3 * 'four'"),
        ("x[EPS].EPS", "x[-1.5].EPS"),
        ("SIZES['none'], SETTINGS.none, Settings.eps, SIZES, NUMBER, SHAPE, np.float64, np.sum", None),
        ("(np.pi, math.inf, INF, x.pi)", "(3.141592653589793, 1e309, 1e309, x.pi)"),
        ("sum(x[k:] * EPS for k in range(1, 5, 2))", "0 + x[1:] * -1.5 + x[3:] * -1.5"),
        ("np.stack([x[k] for k in (2, 0.5)])", "np.stack([x[2], x[0.5]])"),
        ("[x[i, k] for k in range(2) for i in range(k, 2)]", "[x[0, 0], x[1, 0], x[1, 1]]"),
        ("[a * i + b for i, (a, b) in enumerate(((x, -1), [y, EPS]))]", "[x * 0 + -1, y * 1 + -1.5]"),
        ("[a - b for a, b in zip((x, y), reversed(range(3)))]", "[x - 2, y - 1]"),
        ("[k for k in range(0)], [k for k in range(17)], [i * k for k in range(5) for i in range(4)]", None),
        ("[a + b for a in (b,) for b in (x, y)], [a for a in (x + y,)], [a for a in zip((1, 2), x)]", None),
        ("[a for a, b in ((1, 2), 3)], [k for k in enumerate((x,), y)], [a for a in (*x, y)]", None),
        ("sum([x[k] for k in range(2) if k], 3), sum(x for x in y), [[i for i in range(x)] for k in (1, 2)]", None),
        ("[k for k in range(1, 9, 0)], [k for k in range()], [k for k in range(1.5)]", None),
        ("[i for i, _ in enumerate((x, y), start=3)], tuple(x[k] for k in range(2))", "[3, 4], (x[0], x[1])"),
        ("x[PLACES], PLACES[-1], SHAPE[0], CHANGED.pop()", "x[[2, 0]], 0, 2, CHANGED.pop()"),
        (
            "[(0, x)] * 2 + [(1, 1)], (x,) * 17, x * (y,), (x(),) * 2",
            "[(0, x), (0, x), (1, 1)], (x,) * 17, x * (y,), (x(),) * 2",
        ),
        ("x, y, x[~0], x[not 1]", None),
    ],
)
def test_what_is_folded(text: str, folded: str | None) -> None:
    (definition,) = ast.parse(f"def f(x, *, y=3):\n    return {text}\n").body
    assert isinstance(definition, ast.FunctionDef)
    made = constants.fold(definition, {**NAMES, "x": 7, "y": 8})
    wanted = ast.parse(folded or text, mode="eval").body
    assert isinstance(made.body[0], ast.Return)
    assert ast.unparse(made.body[0].value or wanted) == ast.unparse(wanted)


def test_names_that_the_function_assigns() -> None:
    (definition,) = ast.parse("def f():\n    for EPS in (1, 2):\n        pass\n    return EPS\n").body
    assert isinstance(definition, ast.FunctionDef)
    assert "return EPS" in ast.unparse(constants.fold(definition, NAMES))


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("for k in range(2):\n    y += x[k:]", "k = 0; y += x[k:]; k = 1; y += x[k:]"),
        (
            "for a, (b, c) in ((x, (y, 2)), (x + y, [3, x])):\n    x = a * b * c",
            "M0 = x; M1 = y; M2 = x + y; M3 = x; a = M0; b = M1; c = 2; x = a * b * c; a = M2; b = 3; c = M3; "
            "x = a * b * c",
        ),
        ("for k in (1,):\n    for j in [x]:\n        x += k\nelse:\n    x = j", "k = 1; M0 = x; j = M0; x += k; x = j"),
        ("for k in (1, 2):\n    x = x @ y * k", "k = 1; x = x @ y * k; k = 2; x = x @ y * k"),
        ("for _ in range(2):\n    x = x @ y", None),
        ("for k in (1, 2):\n    for j in range(x):\n        x += k", None),
        ("for k in (1, 2):\n    if x:\n        break", None),
        ("for k in range(2):\n    x[k] = y", None),
        ("for k in range(2):\n    pass", None),
        ("for k in range(17):\n    x += k", None),
        ("for a, b in ((x, y), x):\n    x += a", None),
        ("for x[0] in (1, 2):\n    pass", None),
        ("for a in (*x, y):\n    x += a", None),
        ("for k in range(16):\n    x = " + " + ".join(["x"] * 99), None),
    ],
)
def test_loops_that_are_written_out(text: str, folded: str | None) -> None:
    (definition,) = ast.parse("def f(x, y):\n" + "".join(f"    {line}\n" for line in text.splitlines())).body
    assert isinstance(definition, ast.FunctionDef)
    made = constants.fold(definition, {})
    wanted = text if folded is None else folded.replace("; ", "\n").replace("M", constants._MEMBER)
    assert ast.unparse(ast.Module(made.body, [])) == ast.unparse(ast.parse(wanted))


@pytest.mark.parametrize("sort", ["", "x = np.sort(x)\n    "])
def test_values_of_loops_that_are_written_out(tmp_path: Path, sort: str) -> None:
    text = (
        f"def forward(args):\n    x, y = args\n    {sort}z = x * 0\n"
        "    for a, w in ((x[1:], 1 - y), (x[:-1], y)):\n        y = y + 1\n"
        "        for k in (1, 2.5):\n            z = z + a.sum() * w * k\n    return z * w * k\n"
    )
    kernel = kernel_of(tmp_path, text)
    inputs = np.linspace(1, 2, 7), np.linspace(3, 4, 7)
    made = [np.zeros(7)]
    built = build(kernel, inputs, made)
    assert built.facts.form == ("whole-array" if sort else "fused")
    assert run(built, inputs, made) is None
    np.testing.assert_allclose(made[0], kernel.function(inputs), rtol=1e-12)


@pytest.mark.parametrize("body", ["x * EPS", "np.sort(x) * EPS", "np.sort(x) * C['scale'] + S.eps"])
def test_dtypes_beside_constants(tmp_path: Path, body: str) -> None:
    text = (
        "import dataclasses\n@dataclasses.dataclass\nclass Settings:\n    eps: float = 0.25\n"
        "EPS = 0.1\nC = {'scale': 2}\nS = Settings()\n"
        f"def forward(args):\n    x, = args\n    y = {body}\n    return y, np.full(1, y.itemsize)\n"
    )
    kernel = kernel_of(tmp_path, text)
    x = np.arange(5, dtype=np.float32)
    wanted = kernel.function((x,))
    made = [np.empty_like(each) for each in wanted]
    built = build(kernel, [x], made)
    assert built.facts.form != "Python", built.facts.reason
    assert run(built, [x], made) is None
    for ours, numpys in zip(made, wanted):
        np.testing.assert_array_equal(ours, numpys)


def test_values_of_parameters() -> None:
    (definition,) = ast.parse("def f(x, *, scales):\n    for s in scales:\n        x = x * s\n    return x\n").body
    assert isinstance(definition, ast.FunctionDef)
    made = constants.fold(definition, NAMES, {"scales": (0.5, 2)})
    assert [ast.unparse(each) for each in made.body] == ["s = 0.5", "x = x * s", "s = 2", "x = x * s", "return x"]
