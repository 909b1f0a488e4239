"""Elements taken and put along axes, masks and choices: the values that NumPy reads and writes."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run
from quick import thorough

from pykernels.tools.check.bounds import GuardedArray

X = np.random.default_rng(0).standard_normal((4, 5, 6)).astype(np.float32)
INPUTS = (X, X > 0, np.array([3, -1, 0]), np.array([[1], [-3]], np.int32), np.argsort(X, 1))
TAKEN = """
np.take(x, i) | np.take(x, j, axis=-1) | x.take(3) | np.take_along_axis(x, s[:, :1], 1)
"""
TAKEN_MORE = """
x.take(i * 7, axis=0, mode='wrap') | np.take(x[0, 0], -1, 0)
np.take(x, [1, 99], mode='clip') | np.take(x.T, j[:, 0], 0)
np.take_along_axis(x[:1], s, axis=-2) | np.take_along_axis(x, i, None) | np.take_along_axis(x, s[:, :1], 2)
np.take_along_axis(x[:, :1], s[:1], 2) | np.take_along_axis(x[:0], s[:1], 2)
"""
FOUND = """
np.flatnonzero(x > 0) | np.nonzero(x)[0] | np.where(m)[2] | m.T.nonzero()[1] | np.argwhere(i) | np.where(x > 9)[1]
np.extract(m, x) | np.compress(m[0, 0], x, axis=-1) | x.compress(m[0, 0]) | x.compress(m[0, :, 0], axis=1)
"""
CHOSEN = """
np.select((x > 1, x > 0), (x * 2, x[0]), -1) | np.select((x > 1, m[0]), (x[0, 0], 5), default=x)
np.where(m, x, 0) | np.where(m[0], -1, x) | np.where(m, x.max(), x[:, :1])
np.where(m, x[0, 0, 0], x[1, 1, 1]) | np.where(m, 1.5, 2) | np.select((m, ~m), (s, s[0, 0, 0])) | np.where(m, 2, 3)
np.where(x[0, 0, 0] > 0, x[0, 0, 1], 0) + 1 | np.where(i[0] > 1, i[1], j[0, 0]) | np.where(m[0, 0, 0], 1.5, 2)
np.choose(s, (x, x[0], x[:, :1]), mode='clip') | i.choose((i, i + 9), mode='wrap')
"""
WRITTEN = """
np.put_along_axis(y, s[:, :2], 7, 1) | np.put_along_axis(y, s[:, :1], x[:, :1] * 2, axis=1) | np.copyto(y, 0, where=m)
np.put_along_axis(y.T, s.T[:, :1], 1.5, axis=1) | np.copyto(y, x[0] * 2, where=m[0]) | np.putmask(y, m, x[0, 0] * 3)
np.place(y, m, i.astype(np.float32)) | np.place(y.T, m.T, 2) | np.put_along_axis(y, s[:, :1], x[:, :, :1], axis=2)
"""
WRONG = """
np.take(x, i * 40) | np.take(x, 4, 0) | np.take_along_axis(x, s + 1, 1) | np.put_along_axis(y, s - 6, 1, 1)
np.choose(i, (i, i)) | np.place(y, m, x[0, 0, :0]) | np.putmask(y, m[0], 1) | np.compress(np.ones(9), x, 0)
"""


def bodies(table: str) -> list[str]:
    return [each.strip() for line in table.strip().splitlines() for each in line.split(" | ")]


@pytest.mark.parametrize("table", [TAKEN, *thorough(TAKEN_MORE, FOUND, CHOSEN, WRITTEN)])
def test_values(tmp_path: Path, table: str) -> None:
    lines, given = ["x, m, i, j, s = args"], bodies(table)
    if table is WRITTEN:
        lines += [f"y = x.copy()\n    {body}\n    y{at} = y" for at, body in enumerate(given)]
        given = [f"y{at}" for at in range(len(given))]
    kernel = kernel_of(tmp_path, "\n    ".join(["def forward(args):", *lines, f"return {', '.join(given)}"]))
    wanted = [np.asarray(each) for each in kernel.function(INPUTS)]
    outputs = [np.empty(each.shape, each.dtype) for each in wanted]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        built = build(kernel, INPUTS, outputs)
    assert run(built, INPUTS, outputs) is None
    for body, output, expected in zip(bodies(table), outputs, wanted):
        np.testing.assert_array_equal(output, expected, body)


@pytest.mark.thorough
def test_mistakes_raise_as_in_numpy(tmp_path: Path) -> None:
    which = bodies(WRONG)
    cases = [f"if k == {at}:\n        {body}" for at, body in enumerate(which)]
    text = "\n    ".join(["def forward(args, outs, *, k):", "(x, m, i, j, s), (y,) = args, outs", "y[:] = 0", *cases])
    kernel = kernel_of(tmp_path, text)
    built = build(kernel, INPUTS, [X], {"k": 0})
    assert built.facts.form == "whole-array", built.facts.reason
    for k in range(len(which)):
        guarded = [GuardedArray(each, at_end=k % 2 == 0) for each in (*INPUTS, np.zeros_like(X))]
        *given, output = (each.array for each in guarded)
        with pytest.raises(Exception) as error:
            kernel.function(INPUTS, (X.copy(),), k=k)
        assert f"raised {error.type.__name__}" in (run(built, given, [output], {"k": k}) or ""), which[k]
        assert all(each.is_intact() for each in guarded)
