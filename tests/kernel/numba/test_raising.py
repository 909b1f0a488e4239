"""Exceptions in compiled kernels: their texts are not compiled, and are told all the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

X = np.array([1, -2], np.float32)


@pytest.mark.parametrize(
    "statement, told",
    [
        # numba cannot compile a format.
        ("if x[i] < 0: raise ValueError(f'x[{i}] is {x[i]:.2f}')", "ValueError: x[1] is -2.00"),
        ("if x[i] < 0: raise Refused('{0!r}'.format(i)) from None", "Refused: 1"),
        ("if x[i] < 0: raise IndexError", "IndexError"),
        ("assert x[i] >= 0, f'{x[i]:+}'", "AssertionError: -2.0"),
    ],
)
def test_texts(tmp_path: Path, statement: str, told: str) -> None:
    text = f"""
        class Refused(Exception):
            pass

        def forward(args, outs):
            (x,), (y,) = args, outs
            for i in range(len(x)):
                {statement}
                y[i] = x[i]
        """
    outputs = [np.zeros_like(X)]
    built = build(kernel_of(tmp_path, text), [X], outputs)
    assert built.reason is None
    said = run(built, [X], outputs)
    assert said is not None and told in said
    assert run(built, [abs(X)], outputs) is None
    np.testing.assert_array_equal(outputs[0], abs(X))
