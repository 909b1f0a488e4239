"""Statements that are written in plainer forms keep their meaning, and compile."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

from pykernels.kernel.facts import PYTHON
from pykernels.kernel.read.statements import simplify

X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)
BODIES = (
    "*lead, last = x.shape; return x.reshape(-1, last) * len(lead)",
    "n, *rest = x.shape; return x.reshape(n, *rest, 1)",
    "a, *others, b = np.split(x, 2, axis=-1); return a - b",
    "shape = [1] * 3; shape[1] = -1; return x * x[0, :, 0].reshape(shape)",
    "shape = list(x.shape); shape.append(1); shape.insert(0, 1); return np.zeros(shape, x.dtype) + x[..., None]",
    "if (n := x.shape[0]) > 1: x = x * n\nreturn (t := x.sum(axis=1, keepdims=True)) / x - t",
)


@pytest.mark.parametrize("before", ["pass", "for _ in range(1): pass"])
def test_values(tmp_path: Path, before: str) -> None:
    for at, body in enumerate(BODIES):
        lines = f"{before}\n" + body.replace("; ", "\n")
        kernel = kernel_of(
            tmp_path / str(at), f"def forward(args):\n    (x,) = args\n{textwrap.indent(lines, '    ')}\n"
        )
        wanted = kernel.function((X,))
        made = [np.zeros_like(wanted)]
        built = build(kernel, [X], made)
        assert built.facts.form != PYTHON, built.facts.reason
        assert run(built, [X], made) is None
        np.testing.assert_allclose(made[0], wanted, rtol=1e-6, err_msg=body)


def simplified(body: str) -> str:
    (definition,) = ast.parse(f"def forward(x, y):\n{textwrap.indent(textwrap.dedent(body), '    ')}").body
    assert isinstance(definition, ast.FunctionDef)
    return "\n".join(map(ast.unparse, map(ast.fix_missing_locations, simplify(definition, {"np": np}).body)))


def test_warnings_need_no_context() -> None:
    assert simplified("with np.errstate(divide='ignore', all='warn'):\n    y = 1 / x") == "y = 1 / x"
    for kept in ("with np.errstate(all='raise'):\n    y = 1 / x", "with x.errstate(all='ignore'):\n    y = 1"):
        assert simplified(kept) == ast.unparse(ast.parse(kept))  # versions of Python differ in parentheses


@pytest.mark.parametrize(
    "kept",
    [
        "*lead, last = x.shape\ny[lead] = 1",  # a list of places, where a tuple is one place
        "a = [1, 2]\nx[a] = 0",
        "a = [0]\nfor i in y:\n    a.append(i)",
        "a = [1]\nb = a\nb.append(2)",
        "a = [1]\na.extend(y)",
        "a = [1]\na[x] = 2",
        "y = x + (x := 2)",
        "y += (y := 2)",
        "y = x and (x := 2)",
    ],
)
def test_what_stays(kept: str) -> None:
    assert simplified(kept) == ast.unparse(ast.parse(kept))  # versions of Python differ in parentheses


def test_places_that_are_not_there_raise(tmp_path: Path) -> None:
    for at, body in enumerate(("a, *b, c = x.shape", "a = [1, 2]\n    a[2] = 3")):
        text = f"def forward(args, outs):\n    (x,), (y,) = args, outs\n    {body}\n    y[:] = len(x)\n"
        x = np.ones(3)
        with pytest.warns(Warning, match="forward runs as Python"):
            built = build(kernel_of(tmp_path / str(at), text), [x], [x.copy()])
        assert "raised" in str(run(built, [x], [x.copy()]))
