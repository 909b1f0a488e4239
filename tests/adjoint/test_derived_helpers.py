"""Derived gradients of functions whose helpers write into arrays."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run
from gradients import array, check

from pykernels.adjoint.derivation import Call, derive_gradient
from pykernels.base.errors import KernelError
from pykernels.base.python_files import execute
from pykernels.kernel import facts

HELPERS = '''\
import numpy as np


def _add(target, weight, values):
    """Add a multiple of a row to another one."""
    for i in range(target.size):
        target[i] += weight * values[i]


def _norm(v):
    _check(v)
    total = 0.0
    for k in range(v.size):
        total += v[k] * v[k]
    return np.sqrt(total)


def _check(v):
    if v.size == 0:
        raise ValueError("no elements")


def _scale(row, out, by=2.0):
    size = _norm(row)
    by = by / size
    _add(out, by, row)


def _places(i, n):
    first = np.zeros(2, np.int64)
    for k in range(2):
        first[k] = (i + k) % n
    return first, i


def _twice(row):
    row *= 2


def _early(row):
    if row.size > 3:
        return
    row[0] = 1


def _endless(row):
    row[0] = 1
    _endless(row)


def _changed(row, value):
    row[0] = 3
    _add(row, value, row)


def _of_other_name(row):
    row[0] = y[0]


y = 1
'''


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str, str], Any]:
    """Takes the names of arguments and what stands before `return`, and returns a function in a file with helpers."""

    def write(names: str, body: str) -> Any:
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        file = tmp_path / "k.py"
        file.write_text(f"{HELPERS}\n\ndef forward(args):\n    {names} = args\n{lines}    return y\n")
        return vars(execute(file))["forward"]

    return write


FUNCTIONS: dict[str, tuple[str, list[np.ndarray], str]] = {
    "in a loop": (
        "x, w",
        [array(3, 4), array(3)],
        "y = np.zeros_like(x)\nfor i in range(len(x)):\n    _add(y[i], w[i] * 2, x[i])",
    ),
    "without a loop": (
        "x, w",
        [array(3, 4), array(3)],
        "y = x * w[:, None]\n_add(y[0], w[1], x[0])\n_scale(row=x[1], out=y[1])",
    ),
    "views of another shape": (
        "x, w",
        [array(3, 4), array(3)],
        """\
y = x * x
for i in range(len(x)):
    _add(y[i].reshape(4), w[i], x[i])
_add(y.reshape(12), 2.0, x.ravel())""",
    ),
    "results of helpers": (
        "x, w",
        [array(3, 4), array(3)],
        """\
y = np.zeros_like(x)
for i in range(len(x)):
    _check(x)
    n = _norm(x[i])
    _scale(x[i], y[i], n * w[i])
    y[i, 0] += n""",
    ),
    "results that have no gradient": (
        "x, w",
        [array(3, 4), array(3)],
        """\
y = np.zeros_like(x)
for i in range(len(x)):
    places, k = _places(i, len(x))
    _add(y[k], w[places[0]], x[places[1]])""",
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_finite_differences(written: Any, name: str) -> None:
    names, arrays, body = FUNCTIONS[name]
    check(written(names, body), names.split(", "), (arrays, {}))


def test_code_is_as_a_person_writes_it(written: Any) -> None:
    names, arrays, body = FUNCTIONS["in a loop"]
    function = written(names, body)
    source = derive_gradient(function, ["x", "w"], ["y"], [Call(arrays, {})]).written.source
    assert (
        source
        == """\
def backward(args):
    x, w, dy = args
    dx = np.zeros_like(x)
    dw = np.zeros_like(w)
    for i in range(len(x)):
        weight = w[i] * 2
        dweight = 0.0
        for i2 in range(dy[i].size):
            dweight += dy[i][i2] * x[i][i2]
            dx[i][i2] += dy[i][i2] * weight
        dw[i] += 2 * dweight
    return dx, dw
"""
    )
    names, arrays, body = FUNCTIONS["results that have no gradient"]
    source = derive_gradient(written(names, body), ["x", "w"], ["y"], [Call(arrays, {})]).written.source
    assert "        places, k = _places(i, len(x))\n" in source


def test_derived_loops_with_helpers_are_compiled_loops(written: Any, tmp_path: Path) -> None:
    names, arrays, body = FUNCTIONS["results of helpers"]
    source = derive_gradient(written(names, body), ["x", "w"], ["y"], [Call(arrays, {})]).written.source
    kernel = kernel_of(tmp_path, source, "backward")
    unpacked = source.splitlines()[1].strip().removesuffix(" = args").split(", ")
    given = {"x": arrays[0], "w": arrays[1], "y": array(3, 4), "dy": array(3, 4)}
    inputs = [given[each] for each in unpacked]
    outputs = [np.zeros((3, 4)), np.zeros(3)]
    built = build(kernel, inputs, outputs)
    assert built.facts.form == facts.LOOPS
    assert run(built, inputs, outputs) is None
    for found, expected in zip(outputs, plain(kernel, inputs, outputs)):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


REFUSED = {
    "_twice(y[0])": "the call of _twice has no derived gradient: `row += ...` changes its parameter; assign to row[:]",
    "_early(y[0])": "the call of _early has no derived gradient: it returns in the middle, or defines a function;",
    "_endless(y[0])": "the call of _endless has no derived gradient: it calls itself",
    "_of_other_name(y[0])": "y stands for something else where it is called; write its statements there",
    "_add(y[0].T, 2.0, x[0])": (
        "the call of _add has no derived gradient: it assigns to elements of target, for which it must get a variable "
        "or a part of one, not y[0].T"
    ),
    "_add(y[0])": "_add: missing a required argument: 'weight'",
    "for i in range(3):\n    y[i] *= 2 * _norm(x[i])": "a call has loops or assigns to elements: assign its result to",
    "_changed(y[0], y[0, 0])": "forward has no derived gradient: its helpers change what their arguments are",
}


@pytest.mark.parametrize("line", REFUSED)
def test_helpers_without_a_derived_gradient_are_refused(written: Any, line: str) -> None:
    function = written("(x,)", f"y = x * x\n{line}")
    with pytest.raises(KernelError, match=re.escape(REFUSED[line])) as error:
        derive_gradient(function, ["x"], ["y"], [Call([array(3, 4)], {})])
    assert re.match(r"\S+k.py:", str(error.value))
