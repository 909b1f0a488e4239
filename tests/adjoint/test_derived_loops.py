"""Derived gradients of loops and of assignments to elements."""

# The functions that are derived are written as kernels are, without types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run
from gradients import array, check, defined

from pykernels.adjoint.derivation import Call, derive_gradient, derive_tangent
from pykernels.base.errors import KernelError
from pykernels.kernel import facts

# By name: the arguments, what stands before `return`, what is returned, and the lines of the gradient.
LOOPS: dict[str, tuple[str, list[np.ndarray], str, str, str]] = {
    "recurrence": (
        "x",
        [array(5)],
        """\
y = np.empty_like(x)
y[0] = x[0]
for i in range(1, len(x)):
    y[i] = 0.5 * y[i - 1] + x[i]
""",
        "y",
        """\
x, dy = args
dx = np.zeros_like(x)
dy2 = dy.copy()
for i in range(len(x) - 1, 0, -1):
    dy2[i - 1] += 0.5 * dy2[i]
    dx[i] += dy2[i]
dx[0] += dy2[0]
return dx
""",
    ),
    "recurrence that needs its results": (
        "x, w",
        [array(5), array(5)],
        """\
y = np.empty_like(x)
y[0] = x[0]
for i in range(1, len(x)):
    y[i] = np.tanh(w[i] * y[i - 1] + x[i])
""",
        "y",
        """\
x, w, y, dy = args
dx = np.zeros_like(x)
dw = np.zeros_like(x)
dy2 = dy.copy()
for i in range(len(x) - 1, 0, -1):
    product = dy2[i] * (1 - y[i] * y[i])
    dw[i] += product * y[i - 1]
    dy2[i - 1] += product * w[i]
    dx[i] += product
dx[0] += dy2[0]
return dx, dw
""",
    ),
    "state": (
        "x",
        [array(5)],
        """\
y = np.empty_like(x)
h = 0.0
for i in range(len(x)):
    h = 0.9 * h + x[i]
    y[i] = h
""",
        "y",
        """\
x, dy = args
dx = np.zeros_like(x)
dh = 0.0
for i in range(len(x) - 1, -1, -1):
    dh += dy[i]
    dx[i] += dh
    dh = 0.9 * dh
return dx
""",
    ),
    "state that its gradient needs": (
        "x, w",
        [array(5, 3), array(3, 3)],
        """\
h = np.zeros_like(x[0])
for i in range(len(x)):
    h = np.tanh(x[i] + w @ h)
""",
        "h",
        """\
x, w, y, dy = args
h = np.zeros_like(y)
hs = np.empty((len(x) + 1,) + h.shape, h.dtype)
hs[0] = h
for i in range(len(x)):
    hs[i + 1] = np.tanh(x[i] + w @ hs[i])
dx = np.zeros_like(x)
dw = np.zeros_like(w)
dhs = np.zeros_like(hs)
dhs[-1] += dy
for i in range(len(x) - 1, -1, -1):
    product = dhs[i + 1] * (1 - hs[i + 1] * hs[i + 1])
    dw += product[:, None] * hs[i]
    dx[i] += product
    dhs[i] += w.T @ product
return dx, dw
""",
    ),
    "running sum": (
        "x",
        [array(5)],
        """\
y = x.copy()
for i in range(1, len(y)):
    y[i] += y[i - 1]
""",
        "y",
        """\
y, dy = args
dx = dy.copy()
for i in range(len(y) - 1, 0, -1):
    dx[i - 1] += dx[i]
return dx
""",
    ),
    "accumulation": (
        "x, w",
        [array(3, 4), array(4)],
        """\
y = np.empty(x.shape[0])
for r in range(x.shape[0]):
    total = 0.0
    for j in range(x.shape[1]):
        total += x[r, j] * w[j]
    y[r] = np.tanh(total)
""",
        "y",
        """\
x, w, y, dy = args
dx = np.zeros_like(x)
dw = np.zeros_like(w)
for r in range(x.shape[0]):
    dtotal = dy[r] * (1 - y[r] * y[r])
    for j in range(x.shape[1]):
        dx[r, j] += dtotal * w[j]
        dw[j] += dtotal * x[r, j]
return dx, dw
""",
    ),
    "stencil": (
        "x",
        [array(6)],
        """\
y = np.zeros_like(x)
for i in range(1, len(x) - 1):
    y[i] = x[i - 1] - 2 * x[i] + x[i + 1]
""",
        "y",
        """\
x, dy = args
dx = np.zeros_like(x)
for i in range(1, len(x) - 1):
    dx[i - 1] += dy[i]
    dx[i] -= 2 * dy[i]
    dx[i + 1] += dy[i]
return dx
""",
    ),
    "branches": (
        "x",
        [np.linspace(0.1, 0.95, 9)],
        """\
y = np.empty_like(x)
for i in range(x.size):
    if x[i] > 0.5:
        y[i] = x[i] * x[i]
    else:
        t = 3 * x[i]
        y[i] = np.sin(t)
""",
        "y",
        """\
x, dy = args
dx = np.zeros_like(x)
for i in range(x.size):
    if x[i] > 0.5:
        dx[i] += 2 * dy[i] * x[i]
    else:
        t = 3 * x[i]
        dt = dy[i] * np.cos(t)
        dx[i] += 3 * dt
return dx
""",
    ),
    "dynamic programming": (
        "x",
        [array(3, 4)],
        """\
n, m = x.shape
r = np.zeros((n + 1, m + 1))
for i in range(n):
    for j in range(m):
        r[i + 1, j + 1] = x[i, j] + np.logaddexp(r[i, j + 1], r[i + 1, j])
""",
        "r[n, m]",
        """\
x, dy = args
n = x.shape[0]
m = x.shape[1]
r = np.zeros((n + 1, m + 1))
for i in range(n):
    for j in range(m):
        r[i + 1, j + 1] = x[i, j] + np.logaddexp(r[i, j + 1], r[i + 1, j])
dr = np.zeros_like(r)
dr[n, m] = dy
dx = np.zeros_like(x)
for i in range(n - 1, -1, -1):
    for j in range(m - 1, -1, -1):
        term = np.logaddexp(r[i, j + 1], r[i + 1, j])
        dx[i, j] += dr[i + 1, j + 1]
        dr[i, j + 1] += dr[i + 1, j + 1] * np.exp(r[i, j + 1] - term)
        dr[i + 1, j] += dr[i + 1, j + 1] * np.exp(r[i + 1, j] - term)
return dx
""",
    ),
    "a result that nothing reads": (
        "x",
        [array(5)],
        """\
y = np.zeros_like(x)
for i in range(len(x)):
    a, b = np.sin(x[i]), np.exp(x[i])
    y[i] = b
""",
        "y",
        """\
x, dy = args
dx = np.zeros_like(x)
for i in range(len(x)):
    b = np.exp(x[i])
    db = dy[i]
    dx[i] += db * b
return dx
""",
    ),
    "the largest": (
        "x",
        [array(5)],
        """\
top = -np.inf
for i in range(len(x)):
    top = max(top, x[i])
""",
        "top * top",
        """\
x, dy = args
top = -np.inf
top2 = top
for i in range(len(x)):
    top2 = max(top2, x[i])
dtop = 2 * dy * top2
dx = np.zeros_like(x)
dtop2 = dtop
for i in range(len(x) - 1, -1, -1):
    if x[i] == top2:
        dx[i] += dtop2
        dtop2 = 0.0
return dx
""",
    ),
}


def _function(names: str, body: str, returned: str) -> Any:
    unpacked = names if "," in names else f"({names},)"
    lines = [f"{unpacked} = args", *body.splitlines(), f"return {returned}"]
    return defined("def forward(args):\n" + "".join(f"    {line}\n" for line in lines))


@pytest.mark.parametrize("name", LOOPS)
def test_gradients_of_loops_are_loops_that_a_person_writes(name: str) -> None:
    names, arrays, body, returned, code = LOOPS[name]
    _, *lines = check(_function(names, body, returned), names.split(", "), (arrays, {})).splitlines()
    assert "".join(f"{line.removeprefix('    ')}\n" for line in lines) == code


# By name: the arguments, what stands before `return`, and what is returned.
MORE: dict[str, tuple[str, list[np.ndarray], str, str]] = {
    "states that change twice": (
        "x",
        [array(3, 4)],
        """\
y, z = x, x[0] * 1.5
for i in range(20):
    y = 0.5 * (y + 2 / y)
    z = z * y[1]
    y = y * 1.01
    z = np.sin(z)
y = y * z
""",
        "y",
    ),
    "states of loops without a variable": (
        "k",
        [array(3, 4)],
        """\
u, v = np.ones(3), np.ones(4)
for _ in range(20):
    u = 1 / (k @ v)
    v = 1 / (k.T @ u)
""",
        "u[:, None] * k * v",
    ),
    "names that are taken, and a loop that reads _": (
        "x",
        [array(3)],
        """\
turn, us, u = 3, x * 2, x
for _ in range(4):
    u = np.sin(u) * (_ + turn)
    u = u + us
""",
        "u * us",
    ),
    "elements that are swapped": (
        "x",
        [array(5)],
        """\
y, z = np.sin(x), x * x
for i in range(5):
    y[i], z[i] = 2 * z[i], y[i]
    y[i], y[i - 1] = y[i - 1], y[i]
""",
        "y * z",
    ),
    "a reversed range": (
        "x, w",
        [array(6), array(7)],
        """\
y, last = np.zeros_like(x), 0.0
for t in reversed(range(len(x))):
    delta = x[t] + 0.9 * w[t + 1] - w[t]
    last = delta + last * 0.9 * 0.8
    y[t] = last
""",
        "y",
    ),
    "states backwards": (
        "x",
        [array(6)],
        """\
y, h = np.empty_like(x), 0.5
for i in range(len(x) - 1, 0, -1):
    h = h * x[i]
    y[i] = h
y[0] = h * h
""",
        "y",
    ),
    "states of loops within loops": (
        "x",
        [array(3, 4)],
        """\
y, s = np.empty(3), 1.0
for r in range(3):
    top = x[r, 0]
    for i in range(1, 4):
        if x[r, i] > top:
            top = x[r, i]
    for i in range(2):
        s = s * top
    y[r] = top * s
""",
        "y",
    ),
    "states that are swapped": (
        "x",
        [array(4)],
        """\
a, b = np.ones_like(x), x
for i in range(1, 20):
    a, b = b, ((2 * i + 1) * x * b - i * a) / (i + 1)
""",
        "b",
    ),
    "the least of three": (
        "x, w",
        [array(5), array(4)],
        """\
r = np.zeros((6, 5))
for i in range(5):
    for j in range(4):
        r[i + 1, j + 1] = (x[i] - w[j]) ** 2 + min(r[i, j], r[i, j + 1] + 0.1, r[i + 1, j] + 0.2)
""",
        "r[5, 4]",
    ),
    "states that decide": (
        "x",
        [np.array([0.3, 0.9, 0.5, 1.2, 0.1])],
        """\
h, n, y = 1.0, 0, np.zeros_like(x)
for i in range(len(x)):
    if h * x[i] > 0.4:
        h = h * x[i]
        n = n + 1
    else:
        h = h + x[i]
    y[n] += h * x[i]
""",
        "y",
    ),
    "rows": (
        "x",
        [array(3, 4)],
        """\
y = np.empty_like(x)
for i in range(len(x)):
    row = x[i]
    e = np.exp(row - row.max())
    y[i] = e / e.sum()
""",
        "y",
    ),
    "in place": (
        "x",
        [array(3, 4)],
        """\
y = np.empty_like(x)
for i in range(len(x)):
    total = 0.0
    for k in range(x.shape[1]):
        e = np.exp(x[i, k])
        y[i, k] = e
        total += e
    for k in range(x.shape[1]):
        y[i, k] /= total
""",
        "y * x",
    ),
    "a sum that is used after the loop": (
        "x",
        [array(6)],
        """\
total = 0.0
for i in range(len(x)):
    total += np.exp(x[i])
""",
        "x / total",
    ),
    "log-sum-exp of states": (
        "x, w",
        [array(4, 3), array(3, 3)],
        """\
alpha = np.empty_like(x)
alpha[0] = x[0]
for s in range(1, len(x)):
    scores = alpha[s - 1][:, None] + w
    top = scores.max(axis=0)
    alpha[s] = top + np.log(np.exp(scores - top).sum(axis=0)) + x[s]
""",
        "np.exp(alpha[-1]).sum() * alpha",
    ),
    "convolution": (
        "x, w",
        [array(3, 6), array(3)],
        """\
y = np.zeros((x.shape[0], x.shape[1] - len(w) + 1))
for i in range(y.shape[0]):
    for j in range(y.shape[1]):
        for k in range(len(w)):
            y[i, j] += x[i, j + k] * w[k]
""",
        "y",
    ),
    "elements that are assigned twice": (
        "x, w",
        [array(5), array(5)],
        """\
y = np.zeros(3)
index = np.array([0, 2, 2, 1, 0])
for i in range(len(x)):
    y[index[i]] = x[i] * x[i]
for i in range(len(w)):
    y[index[i]] += w[i] * w[i]
""",
        "y",
    ),
    "backwards, and both branches": (
        "x, w",
        [np.linspace(0.2, 0.9, 7), array(7)],
        """\
y = np.empty_like(x)
y[-1] = x[-1]
for i in range(len(x) - 2, -1, -1):
    y[i] = y[i + 1] * w[i] if x[i] > 0.5 else max(x[i], 0.4) * min(w[i], 0.6)
""",
        "y",
    ),
    "parts": (
        "x, w",
        [array(4, 6), array(2)],
        """\
y = np.zeros_like(x)
for k in range(len(w)):
    y[:, k : y.shape[1] - 1 + k] += w[k] * x[:, 1:]
y[1:, 0] *= 2
""",
        "y",
    ),
    "places that are computed": (
        "x, w",
        [array(5), np.array([0.25, 1.5, 3.999])],
        """\
y = np.empty_like(w)
for i in range(len(w)):
    at = int(w[i])
    y[i] = x[at] + (x[at + 1] - x[at]) * (w[i] - at)
""",
        "y",
    ),
    "elements of views that have names": (
        "x",
        [array(3, 4)],
        """\
y = np.zeros((2, 3, 4))
a, b = y[0], y[1]
for i in range(len(x)):
    row, turned = a[i], b[i].reshape(2, 2)
    for k in range(x.shape[1]):
        row[k] = np.sin(x[i, k])
        turned[k // 2, k % 2] += x[i, k] ** 2
b[0] += x[1] ** 3
""",
        "y",
    ),
    "the largest of each row, column and window": (
        "x",
        [array(4, 6)],
        """\
rows, columns, windows = np.empty(4), np.full(6, -np.inf), np.empty((2, 3))
for i in range(4):
    top = -np.inf
    for k in range(6):
        top = max(top, x[i, k])
        columns[k] = np.maximum(x[i, k] * x[i, 0], columns[k])
    rows[i] = top * top
for i in range(2):
    for k in range(3):
        least = x[2 * i, 2 * k]
        for a in range(2):
            for b in range(2):
                if x[2 * i + a, 2 * k + b] < least:
                    least = x[2 * i + a, 2 * k + b]
        windows[i, k] = least
""",
        "rows.sum() * columns * columns + windows.sum()",
    ),
    "what belongs to the largest, and the largest so far": (
        "x, w",
        [array(6), array(6)],
        """\
best, found, y = -np.inf, 0.0, np.empty_like(x)
for i in range(len(x)):
    if x[i] > best:
        best = x[i]
        found = w[i]
    y[i] = best * best
""",
        "y * found",
    ),
    "variables that a turn changes": (
        "x, w",
        [array(6, 3), array(3, 3)],
        """\
h = np.zeros_like(x)
for t in range(1, len(x)):
    a = x[t] + w @ h[t - 1]
    a = np.tanh(a)
    a *= 1.5
    s = a[0] * 2
    if t > 3:
        s = 1 + 0.1 * (s - 1)
    h[t] = a * s * s
""",
        "h",
    ),
    "variables of the last turn": (
        "w, u",
        [array(4, 6), array(4)],
        """\
for _ in range(20):
    v = w.T @ u
    v = v / np.linalg.norm(v)
    u = w @ v
    u = u / np.linalg.norm(u)
""",
        "w / (u @ w @ v)",
    ),
    "functions of the file": (
        "x",
        [array(5)],
        """\
y = np.empty_like(x)
for i in range(len(x)):
    y[i] = square(x[i]) + square(2 * x[i])
""",
        "y",
    ),
}  # fmt: skip


def _square(a):
    return a * a


@pytest.mark.parametrize("name", MORE)
def test_gradients_of_loops_are_finite_differences(name: str) -> None:
    names, arrays, body, returned = MORE[name]
    function = _function(names, body, returned)
    function.__globals__["square"] = _square
    check(function, names.split(", "), (arrays, {}))


def test_functions_of_loops_have_second_derivatives_and_tangents() -> None:
    names, arrays, body, returned, _ = LOOPS["recurrence that needs its results"]
    forward = _function(names, body, returned)
    values = forward(tuple(arrays))
    calls = [Call([*arrays, values, np.ones(5)], {})]
    source = derive_gradient(forward, ["x", "w"], ["y"], [Call(arrays, {})]).written.source
    backward = defined(source.replace("def backward", "def forward"))
    check(backward, ["x", "w", "v", "dv"], ([*arrays, values, array(5)], {}))
    tangent = derive_tangent(backward, ["x", "w", "y", "dy"], ["dx", "dw"], calls, name="tangent", seeds=["dy"])
    namespace: dict[str, Any] = {"np": np}
    exec(tangent.written.source, namespace)
    ways = {"tx": array(5), "tw": array(5)}
    given = {"x": arrays[0], "w": arrays[1], "y": values, **ways}
    found = namespace["tangent"](tuple(given[each] for each in tangent.written.arguments))
    ends = [forward((arrays[0] + h * ways["tx"], arrays[1] + h * ways["tw"])) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / 2e-6, rtol=1e-6)


def _fill(y, x):
    y[0] = x[0]
    return x * x


def test_gradients_of_numbers_are_not_changed() -> None:
    function = _function("x", "y, share = 0.0, 0.9\nfor i in range(len(x)):\n    y = x[i] * x[i] + y * share", "y")
    source = derive_gradient(function, ["x"], ["y"], [Call([array(5)], {})]).written.source
    assert "    dy2 = dy[()]\n" in source
    namespace: dict[str, Any] = {"np": np}
    exec(source, namespace)
    dy = np.array(2.0)
    dy.flags.writeable = False
    np.testing.assert_allclose(namespace["backward"]((np.ones(5), dy)), 4 * 0.9 ** np.arange(4, -1, -1))


def test_arrays_that_a_called_function_changes_are_refused() -> None:
    function = _function("x", "y = np.zeros(5)\nz = _fill(y, x)", "y + z")
    function.__globals__["_fill"] = _fill
    with pytest.raises(KernelError, match="it assigns to elements of y, which belong to another array; copy it before"):
        derive_gradient(function, ["x"], ["y"], [Call([array(5)], {})])


def test_derived_loops_are_compiled_loops(tmp_path: Path) -> None:
    names, arrays, body, returned, _ = LOOPS["branches"]
    source = derive_gradient(_function(names, body, returned), ["x"], ["y"], [Call(arrays, {})]).written.source
    kernel = kernel_of(tmp_path, source, "backward")
    for dtype in ("float32", "float64"):
        inputs = [arrays[0].astype(dtype), array(9).astype(dtype)]
        outputs = [np.zeros(9, dtype)]
        built = build(kernel, inputs, outputs)
        assert built.facts.form == facts.LOOPS
        assert run(built, inputs, outputs) is None
        np.testing.assert_allclose(outputs, plain(kernel, inputs, outputs), rtol=1e-6)


def test_results_may_be_written_into_outs_and_views_of_them() -> None:
    function = defined(
        "def forward(args, outs):\n"
        "    (x,), (y, z) = args, outs\n"
        "    flat, flat_y = x.reshape(x.size), y.reshape(x.size)\n"
        "    for i in range(x.size):\n"
        "        flat_y[i] = np.exp(flat[i])\n"
        "        z[i // 3, i % 3] = flat_y[i] * flat[i]\n"
    )
    x = array(2, 3)
    found = derive_gradient(function, ["x"], ["y", "z"], [Call([x], {}, [np.empty_like(x), np.empty_like(x)])])
    assert found.written.arguments == ("x", "y", "dy", "dz")
    namespace: dict[str, Any] = {"np": np}
    exec(found.written.source, namespace)
    dy, dz = array(2, 3), array(2, 3)
    expected = dy * np.exp(x) + dz * np.exp(x) * (1 + x)
    np.testing.assert_allclose(namespace["backward"]((x, np.exp(x), dy, dz)), expected)


# What stands before `return`, and the beginning of the message.
REFUSED = [
    (
        "y = x.copy()\nfor i in range(4):\n    y[i + 1] = y[i + 1] * y[i]",
        "5: its gradient needs y[i + 1] as it was before",
    ),
    (
        "y = x.copy()\nfor i in range(0, 40, 2):\n    y = y * y",
        "5: its gradient needs y as it was before: assign the result to another variable or array",
    ),
    (
        "h = 1.0\ny = np.empty_like(x)\nfor i in range(0, 5, 3):\n    y[i] = h * h\n    h = h + x[i]",
        "5: its gradient needs the value that h has in each turn: keep the values in an array",
    ),
    ("y = x.copy()\nfor i in range(20):\n    y *= y", "5: its gradient needs y as it was before"),
    (
        "y = x.copy()\nfor i in range(20):\n    y = y[:2] * y.sum() / 9",
        "4: it raises ValueError: could not broadcast input array from shape (2,) into shape (5,)",
    ),
    (
        "y = x.copy()\nfor i in range(20):\n    y = y[:1] * y.sum() / 9",
        "4: a variable that its loops change in each turn changes its shape or dtype, or has elements of others",
    ),
    (
        "y = x.copy()\nfor i in range(5):\n    t = y[i] * y[i]\n    y[i] = 0\n    y[i] += t",
        "4: from here on, values in y that the gradient needs are overwritten: assign to other arrays",
    ),
    ("y = x\ny[0] = 1", "4: it assigns to elements of y, which belong to another array; copy it before"),
    ("y = x[:]\ny[0] = 1", "4: it assigns to elements of x, which belong to another array; copy it before"),
    (
        "y = np.zeros((2, 5))\nrow = y[0]\ny[0, 1] = x[0]\ny = y * row",
        "5: it assigns to elements of y, which row has, too; copy one of them",
    ),
    (
        "y = np.zeros((2, 5))\nfor i in range(2):\n    row = y[i].T\n    row[0] = x[0]",
        "4: it raises ValueError: assignment destination is read-only",
    ),
    (
        "y = np.zeros((2, 5))\nfor i in range(2):\n    row = y[i].T\n    row[0] = x[0]\n    y[i, 1] = 0",
        "6: row is a part of y, or the reverse: assign to one of them alone",
    ),
    (
        "y = x.copy()\nfor i in range(5):\n    if y[i] > 0.5:\n        y[i] = 0",
        "5: it assigns to what its condition reads",
    ),
    (
        "y = x.copy()\nfor i in range(0, 5, 2):\n    y[i] += y[i - 1]",
        "4: its turns depend on each other: loop over a range with a step of 1 or -1",
    ),
    ("y = 0.0\nfor each in x:\n    y += each", "4: a loop over an array has no derived gradient; loop over a range"),
    ("y = x.copy()\nfor i in range(5):\n    if x[i] > 3:\n        y[i] = x[0]", "6: no sample reaches this line"),
    (
        "y = x.copy()\nfor i in range(20):\n    y.sort()",
        "5: a call whose result is not used has no derived gradient beside loops",
    ),
    ("y = x.copy()\nfor i in range(6):\n    y[i] += 1", "4: it raises IndexError: index 5 is out of bounds"),
    (
        "z, y = np.zeros(5, complex), x.copy()\nfor i in range(5):\n    z[i] = x[i]\n    y[i] += z[i].real",
        "4: z is complex, and gradients are derived for real numbers alone; write this one by hand",
    ),
    ("y = x.copy()\nfor i in range(5):\n    t = 1j * x[i]\n    y[i] = t.imag", "5: 1j * x[i] is complex, and"),
    (
        "y = np.empty(5)\nfor i in range(5):\n    y[i] = _exactly(x[i]) * x[i]",
        "4: from here on, the gradient of y cannot be compared with finite differences, because the function refuses "
        "numbers",
    ),
    ("y = x\nwhile True:\n    y = 2 * y", "4: a `while` has no derived gradient; write `for`"),
]


def _exactly(a):
    if a not in np.linspace(0.2, 0.9, 5):
        raise ValueError("another number")
    return a


@pytest.mark.parametrize(("body", "message"), REFUSED)
def test_other_loops_are_refused_with_their_line(body: str, message: str) -> None:
    function = _function("x", body, "y")
    function.__globals__["_exactly"] = _exactly
    with pytest.raises(KernelError, match=re.escape(message)):
        derive_gradient(function, ["x"], ["y"], [Call([np.linspace(0.2, 0.9, 5)], {})])
