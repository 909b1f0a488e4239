"""Functions within a kernel take nothing of the kernel away."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run


def test_stores_beside_functions_within(tmp_path: Path) -> None:
    text = """
        def same(y):
            return y

        def forward(args, outs):
            (x,), (y,) = args, outs
            parts = [i * 2 for i in range(len(x))]

            def total(number):
                return number + len(parts)

            y[:] = 1
            part = same(y)
            part[1:] += x[1:]
            y[0] = total(x[0])
        """
    x, y = np.arange(3.0), np.zeros(3)
    built = build(kernel_of(tmp_path, text), [x], [y])
    assert built.reason is None and run(built, [x], [y]) is None
    np.testing.assert_array_equal(y, [3, 2, 3])


@pytest.mark.parametrize("statement", ["t = x[9]", "a, b = x", "t = x[1:] + x", "if x[0] > 0: k = 1\n    t = k"])
def test_what_raises_beside_functions_within(tmp_path: Path, statement: str) -> None:
    text = f"""
def forward(args, outs):
    (x,), (y,) = args, outs
    n = min(3, len(x))
    {statement}
    y[:] = len([i * 2 for i in range(n)])
"""
    x, y = np.zeros(3), np.zeros(3)
    built = build(kernel_of(tmp_path, text), [x], [y])
    assert built.reason is None
    said = run(built, [x], [y])
    assert said is not None and "Error: " in said
