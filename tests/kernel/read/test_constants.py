"""Constants of a kernel's file are Python's numbers, in every form of a kernel."""

from __future__ import annotations

import ast
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
NAMES |= {"NUMBER": np.float32(2), "Settings": Settings}


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("x + EPS", "x + -1.5"),
        ("x.sum(SETTINGS.axes) / SETTINGS.eps", "x.sum((0, -1)) / 0.5"),
        ("SIZES['k'] * SIZES[4]", "3 * 'four'"),
        ("x[EPS].EPS", "x[-1.5].EPS"),
        ("SIZES['none'], SETTINGS.none, Settings.eps, SIZES, INF, NUMBER, SHAPE", None),
        ("sum(x[k:] * EPS for k in range(1, 5, 2))", "0 + x[1:] * -1.5 + x[3:] * -1.5"),
        ("np.stack([x[k] for k in (2, 0.5)])", "np.stack([x[2], x[0.5]])"),
        ("[k for k in range(0)], [k for k in range(17)], [i for k in range(2) for i in range(k)]", None),
        ("sum([x[k] for k in range(2) if k], 3), sum(x for x in y), [[i for i in range(x)] for k in (1, 2)]", None),
        ("[k for k in range(1, 9, 0)], [k for k in range()], [k for k in range(1.5)]", None),
        ("x, y", None),
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
