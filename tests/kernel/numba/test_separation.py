"""Operations in place on memory that their operand lies in give what NumPy gives, which copies the operand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run

OPERATIONS = {
    "later elements": "y[1:] += y[:-1]",
    "earlier elements": "y[:-1] -= y[1:]",
    "reversed": "y += y[::-1]",
    "transposed": "y *= y.T",
    "a row": "y += y[1]",
    "a column": "y += y[:, :1]",
    "by another name": "z = y[:-1]\n    y[1:] += z",
    "reshaped": "z = y.reshape(-1)\n    z[2:] += z[:-2]",
    "a helper's": "y[1:] += tail(y)",
    "in a loop": "for i in range(3):\n        y[1:] += y[:-1]",
    "itself": "y += y",
    "apart": "z = y * 2\n    y += z",
    "numbers": "total = 0.0\n    for i in range(4):\n        total += y[i, 0]\n    y += total",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("takes_outs", [True, False])
def test_operands_in_the_same_memory(tmp_path: Path, name: str, takes_outs: bool) -> None:
    x = np.arange(16, dtype=np.float32).reshape(4, 4) - 5
    text = "def tail(y):\n    return y[:-1]\n"
    if takes_outs:
        text += f"def forward(args, outs):\n    (y,) = outs\n    y[...] = args[0]\n    {OPERATIONS[name]}\n"
    else:
        text += f"def forward(args):\n    y = args[0] * 1\n    {OPERATIONS[name]}\n    return y\n"
    kernel = kernel_of(tmp_path, text)
    out = np.zeros_like(x)
    built = build(kernel, [x], [out])
    assert built.facts.form != "Python"
    assert run(built, [x], [out]) is None
    np.testing.assert_array_equal(out, *plain(kernel, [x], [out]))


def test_operands_of_a_member(tmp_path: Path) -> None:
    x = np.arange(5, dtype=np.float32)
    text = "def forward(args, outs):\n    outs[0][...] = args[0]\n    outs[0][1:] += outs[0][:-1]\n"
    kernel = kernel_of(tmp_path, text)
    out = np.zeros_like(x)
    assert run(build(kernel, [x], [out]), [x], [out]) is None
    np.testing.assert_array_equal(out, [0, 1, 3, 5, 7])
