"""Arrays, masks and lists as indices: the values that NumPy reads and writes, and no memory beside an array."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import build, kernel_of, run

from pykernels.tools.check.bounds import GuardedArray

R = np.random.default_rng(0)
X = R.standard_normal((4, 5, 6)).astype(np.float32)
M = X > 0
AT, ROWS = np.array([3, -1, 0]), np.array([[1], [-3]], np.int32)
READ = """
x[i] | x[:, i] | x[i, :, 1] | x[0, :, i] | x[i, i] | x[j, :, i] | x[:, j, i] | x[1:3, i, ::2] | x[None, i, ..., 2]
x[:, i, None, i] | x[::-1, 1][:, i] | x[i, ..., i, i] | x[j] | x[i[:0]] | x[np.array(2)]
"""
SELECTED = """
x[m] | x[:, m[0]] | x[m[..., 0], 1] | x[x > 9] | x[(2, 0), 1] | x[m[:, 0, 0], :, i[:1]]
"""
SELECTED_MORE = """
x[m[:, 0, 0]] | x[:, m[0, :, 0], -1] | x.T[m.T] | m[m]
x[:, [2, 0, -1]] | x[1:, [3], i] | x[[True, False, False, True]] | np.ones((3, 6))[:, m[0, 0]]
np.arange(99)[np.arange(99) % 7 > 2] | np.ones(200)[np.arange(200) < 190]
"""
WRITTEN = """
y[m] = 0 | y[m] *= 2 | y[x > 0] = -x[x > 0] | y[m[..., 0], 1] = 5 | y[:, m[0]] += 1 | y[m] = 3.0 * np.arange(m.sum())
y[:, i] += 1 | y[j, i] = 7 | y[i] = y[::-1][1:] | y[[1, 1, 1]] += x[:3] | y[i, :, j] = x[0, :, 0]
y[..., [2]] = x[0, 0, 0] | y.T[i] = 2 | y[m] = np.array(4) | y[i[:0]] = 9
k = np.arange(9) < 5; k[k] = np.arange(5) > 2; y[0, 0] = k[:6]
"""
WRONG = """
x[i + 1] | x[:, i - 5] | x[j, i * 9] | x[m[0]] | x[0, m[0, :4, 0]] | x[i[:2], i] | x[np.array([2**62])] | x[[4]]
"""
WRONG_WRITTEN = """
y[i + 1] = 0 | y[m[:, :4]] = 1 | y[i] = x[:2] | y[m] = x[0, 0] | y[:, [9]] += 1 | y[i[:2], i] = 1
"""


def bodies(table: str) -> list[str]:
    return [each.strip() for line in table.strip().splitlines() for each in line.split(" | ")]


def check(folder: Path, lines: list[str], inputs: tuple[np.ndarray, ...]) -> None:
    text = "\n    ".join(["def forward(args):", "x, m, i, j = args", "M = m", *lines])
    kernel = kernel_of(folder, text)
    wanted = [np.asarray(each) for each in kernel.function(inputs)]
    outputs = [np.empty(each.shape, each.dtype) for each in wanted]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        built = build(kernel, inputs, outputs)
    assert run(built, inputs, outputs) is None
    for line, output, expected in zip(lines[-1].split(", ("), outputs, wanted):
        np.testing.assert_array_equal(output, expected, line)


@pytest.mark.parametrize(
    ("table", "dtype"),
    [
        (SELECTED, np.int16),
        *(pytest.param(*each, marks=pytest.mark.thorough) for each in ((SELECTED_MORE, np.int16), (READ, np.float32))),
    ],
)
def test_reading(tmp_path: Path, table: str, dtype: Any) -> None:
    check(tmp_path, [f"return ({'), ('.join(bodies(table))})"], ((X * 9).astype(dtype), M, AT, ROWS))


@pytest.mark.thorough
@pytest.mark.parametrize("part", [0, 1])
def test_assigning(tmp_path: Path, part: int) -> None:
    lines = [f"y = x.copy()\n    {body}\n    y{at} = y" for at, body in enumerate(bodies(WRITTEN)[part::2])]
    check(tmp_path, [*lines, f"return {', '.join(f'(y{at})' for at in range(len(lines)))}"], (X, M, AT, ROWS))


@pytest.mark.parametrize("is_written", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_indices_out_of_range_raise(tmp_path: Path, is_written: bool) -> None:
    which = bodies(WRONG_WRITTEN if is_written else WRONG)
    cases = [
        f"if k == {at}:\n        {body if is_written else 'y[0] = np.sum(' + body + ')'}"
        for at, body in enumerate(which)
    ]
    lines = "\n    ".join(["def forward(args, outs, *, k):", "(x, m, i, j), (y,) = args, outs", "y[:] = 0", *cases])
    kernel = kernel_of(tmp_path, lines)
    inputs = (X, M, AT, ROWS)
    built = build(kernel, inputs, [X], {"k": 0})
    assert built.facts.form == "whole-array", built.facts.reason
    for k in range(len(which)):
        guarded = [GuardedArray(each, at_end=k % 2 == 0) for each in (*inputs, np.zeros_like(X))]
        *given, output = (each.array for each in guarded)
        with pytest.raises(Exception) as error:
            kernel.function(inputs, (X.copy(),), k=k)
        assert f"raised {error.type.__name__}" in (run(built, given, [output], {"k": k}) or ""), which[k]
        assert all(each.is_intact() for each in guarded)
