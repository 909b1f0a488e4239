"""Options of universal functions on elements, ``out``, ``where`` and ``dtype``, alone and in a kernel with a loop."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

from pykernels.kernel.facts import LOOPS, PYTHON

RNG = np.random.default_rng(5)
X, Y = RNG.standard_normal((2, 4, 6)).astype(np.float32)
M, WHOLE = Y > 0, RNG.integers(-9, 9, (4, 6)).astype(np.int8)

NEW = """
np.where(m, np.add(x, y, where=m), 0) | np.exp(x, dtype=np.float64) | np.multiply(x, i, dtype=np.float64)
np.sqrt(m, dtype='f4') | np.add(i, 1, dtype=np.float32) | np.add(i, 300, dtype=np.int16)
np.subtract(2.5, i, dtype=np.float32) | np.where(m[:1], np.exp(m, dtype=np.float32, where=m[:1]), 0)
np.power(i, 2, dtype=np.float64) | np.where(m, np.maximum(i, x, dtype='d', where=m), 0)
"""
IN_PLACE = """
np.multiply(z, y, out=z) | np.exp(z, z) | np.add(x, y[:1], z) | np.add(z, i, out=z, where=m)
np.divide(x, y, out=z, where=y > 0) | np.maximum(x, 0, out=z, dtype=np.float64) | np.add(2, y, z, where=m[:, :1])
np.logical_and(x, y, out=z, where=m) | z += y * y[:1]
"""
# Only numba compiles these: parts of arrays are written.
PARTS = """
np.add(z, 1, out=z[:, ::-1]) | np.add(z[:, ::-1], z, out=z) | np.negative(z[1:], out=z[:-1]) | np.exp(x[0], out=z[1])
w = np.subtract(z, y, out=z); z += w | np.add(x, y[0], out=z[::-1], where=m)
np.add(z, 1, out=(z,)) | np.exp(y[:1], out=z) | np.add(z[0], z[:, :1], out=z) | np.copysign(x, z.T.reshape(4, 6), out=z)
"""


def lines_of(table: str) -> list[str]:
    return [each.strip() for line in table.strip().splitlines() for each in line.split(" | ")]


def check(folder: Path, body: str, returned: str) -> str:
    """Compare a kernel of ``x, y, m, i`` with NumPy, values and dtypes; return its form."""
    kernel = kernel_of(folder, f"def forward(args):\n    x, y, m, i = args\n    {body}\n    return {returned}\n")
    inputs = [X, Y, M, WHOLE]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # NumPy 2.4 warns of a mask without an array to write to; where the mask is false, nothing is compared.
        warnings.filterwarnings("ignore", "'where' used without 'out'")
        wanted = kernel.function(tuple(inputs))
    made = [np.full(each.shape, 7, each.dtype) for each in wanted]
    built = build(kernel, inputs, made)
    assert built.facts.form != PYTHON and not built.facts.python_calls, built.facts.reason
    assert run(built, inputs, made) is None
    for line, ours, numpys in zip(returned.split(", "), made, wanted):
        np.testing.assert_allclose(ours, numpys, rtol=1e-6, atol=1e-6, err_msg=line)
    return built.facts.form


@pytest.mark.parametrize("before", ["pass", pytest.param("for _ in range(1): pass", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("table", [NEW, IN_PLACE, PARTS], ids=["new", "in place", "parts"])
def test_values(tmp_path: Path, table: str, before: str) -> None:
    if table == NEW:
        body, names = before, [f"r{at}" for at in range(len(lines_of(table)))]
        body += "".join(f"\n    {name} = {line}" for name, line in zip(names, lines_of(table)))
    else:
        names = [f"z{at}" for at in range(len(lines_of(table)))]
        body = before
        for name, line in zip(names, lines_of(table)):
            start = f"\n    z = {'x * 1' if table == IN_PLACE else 'np.sort(x)'}"
            body += start + "".join(f"\n    {each}" for each in line.split("; ")) + f"\n    {name} = z"
    form = check(tmp_path, body, f"{', '.join(names)}, ")
    assert form == (LOOPS if "for" in before else "whole-array" if table == PARTS else "fused")


@pytest.mark.parametrize("before", ["pass", "for _ in range(1): pass"])
@pytest.mark.parametrize("change", ["z += y", "np.add(z, y, out=z)", "np.add(z, y, out=z, where=y > 0)"])
def test_what_does_not_fit_is_an_error(tmp_path: Path, change: str, before: str) -> None:
    kernel = kernel_of(
        tmp_path, f"def forward(args):\n    x, y = args\n    {before}\n    z = x * 2\n    {change}\n    return z\n"
    )
    made = np.empty_like(X)
    built = build(kernel, [X, Y], [made])
    assert built.facts.form != PYTHON
    assert run(built, [X, Y], [made]) is None
    message = str(run(built, [X[:1], Y], [made[:1]]))
    assert f"op_py_kernel.py:{7}: forward raised ValueError: non-broadcastable output operand" in message


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("np.add(x, y, out=np.zeros(x.shape, np.int64))", "NumPy computes no such dtypes, or not into this array"),
        ("np.exp(x, dtype=np.int64)", "np.exp does not compute in int64"),
        ("np.exp(x, dtype=np.float32, casting='unsafe')", "unsupported keyword arguments"),
        ("np.add(i, -1, dtype=np.uint8)", "NumPy does not convert int8 to uint8 here"),
    ],
)
def test_what_is_left_to_numpy(tmp_path: Path, call: str, reason: str) -> None:
    kernel = kernel_of(tmp_path, f"def forward(args):\n    x, y, i = args\n    return np.sort({call}, axis=0)\n")
    with pytest.warns(match=reason):
        assert build(kernel, [X, Y, WHOLE], [X]).facts.form == PYTHON
