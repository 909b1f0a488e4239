"""Variables without a value: reading one raises in compiled code, where and when it does in Python."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

from pykernels.base.errors import PykernelsWarning
from pykernels.kernel.facts import LOOPS, WHOLE_ARRAY

# Each for x[0] in -1, 0, 1, ... as n, a number of Python's that is not known before.
BODIES = {
    "branch": """
        if n > 1:
            k = 2.0
        y[0] = k
        """,
    "other branch": """
        if n > 1:
            k = 2.0
        elif n < 1:
            k = 3.0
        y[0] = k + k
        """,
    "loop": """
        for i in range(n):
            last = x[i]
        y[0] = last
        """,
    "counter": """
        for i in range(n):
            y[i] = 1
        y[0] = i
        """,
    "carried": """
        for i in range(5):
            if i == n:
                found = x[i]
            elif i > 1:
                y[i] = found
        """,
    "found later": """
        for i in range(4):
            if n < 0 and i > 1:
                pass
            elif i == n:
                found = 2 * i
            if i > n:
                y[i] = found
        """,
    "while": """
        while n > 1:
            n -= 1
            k = n
        else:
            y[1] = 2
        y[0] += k
        """,
    "break": """
        for i in range(5):
            if i == n:
                k = i
                break
        else:
            y[1] = 3
        y[0] = k
        """,
    "in place": """
        if n > 1:
            k = 1
        k += 1
        y[0] = k
        """,
    "array": """
        if n > 1:
            v = x * 2
        y[:] = v
        """,
    "view": """
        for i in range(n):
            v = x[i:]
        y[: len(v)] = v
        """,
    "tuple": """
        if n > 1:
            pair = (x[0], 3)
        y[0], y[1] = pair
        """,
    "unpacked": """
        for i in range(n):
            a, b = x[i], i
        y[0] = a + b
        """,
    "index": """
        if n > 1:
            k = 1
        for i in range(n + 1):
            y[i] = x[i + k]
        """,
    "index alone": """
        if n > 1:
            k = 1
        for i in range(n):
            y[i] = m[k, i]
        """,
    "indexed array": """
        if n > 1:
            v = x.copy()
        for i in range(n):
            y[i] = v[i]
        """,
    "nested loops": """
        for i in range(3):
            for j in range(n):
                k = i + j
            for j in range(i):
                y[j] += x[j] + k
        """,
    "same condition": """
        if n > 1:
            k = 4
        for i in range(5):
            y[i] = x[i]
            if n > 1:
                y[i] += k
        """,
    "argument": """
        if n > 1:
            k = 1
        y[0] = max(x[0], k)
        """,
    "condition": """
        if n > 1:
            k = True
        if k:
            y[0] = 1
        """,
    "either": """
        if n > 1:
            k = 2
        y[0] = k if n > 0 else 3
        """,
    "chosen": """
        if n > 1:
            k = 2
        m = k if n < 3 else 5
        y[0] = m
        """,
    "chained": """
        if n > 1:
            k = 2
        y[0] = 1 < k < n
        """,
    "unused": """
        if n > 1:
            k = 2
        m = k
        y[0] = 1
        """,
    "walrus": """
        if n > 0 and (k := n) > 1:
            y[1] = 1
        y[0] = k
        """,
    "caught": """
        try:
            if n > 1:
                k = 2
            y[1] = 1
            y[2] = k
            y[3] = 3
        except Exception:
            y[0] = 4
        """,
    "caught in a loop": """
        for i in range(5):
            try:
                if i >= n:
                    k = i
                y[i] = k
            except Exception:
                y[i] = 4
        """,
    "comprehension": """
        if n > 1:
            k = 2
        parts = [i * k for i in range(n)]
        y[0] = len(parts)
        """,
    "hidden by a comprehension": """
        if n > 1:
            i = 2
        parts = [i * n for i in range(2)]
        y[1] = len(parts)
        y[0] = i
        """,
    "hidden by a comprehension, never assigned before": """
        parts = [i * n for i in range(2)]
        y[1] = len(parts)
        if n > 1:
            i = 2
        y[0] = i
        """,
    "after an empty comprehension": """
        parts = [i * 2 for i in range(n)]
        for i in range(len(parts)):
            y[i] = parts[i]
        y[0] = i
        """,
    "returned": """
        y[0] = helper(n)
        """,
    "helper that loops": """
        y[0] = counting(n)
        """,
    "helper in a loop": """
        for i in range(n):
            y[i] = within(x, i)
        """,
}
TEXT = """
def helper(n):
    if n > 1:
        k = n * 2
    return k

def counting(n):
    while True:
        n -= 1
        if n >= 0:
            k = n
        else:
            return k

def within(x, n):
    for i in range(n):
        k = x[i]
    return k

def forward(args, outs):
    (x, m), (y,) = args, outs
    y[:] = 0
    n = int(x[0])
"""


@pytest.mark.parametrize("name", BODIES)
def test_as_in_python(tmp_path: Path, name: str) -> None:
    kernel = kernel_of(tmp_path, TEXT + textwrap.indent(textwrap.dedent(BODIES[name]), "    "))
    m = np.arange(14, dtype=np.float64).reshape(2, 7)
    built, raised = None, set()
    for n in range(-1, 6):
        x = np.arange(n, n + 7, dtype=np.float64)
        y, expected = np.full(7, 9.0), np.full(7, 9.0)
        built = built or build(kernel, [x, m], [y])
        assert built.facts.form in (LOOPS, WHOLE_ARRAY), built.reason
        said = run(built, [x, m], [y])
        try:
            kernel.function((x, m), (expected,))
        except NameError as error:  # `UnboundLocalError`, but of a variable that a function within reads
            assert said is not None, f"n = {n}: {y}, where Python raises {error}"
            assert f"{type(error).__name__}: {error}" in said and f"{kernel.path}:" in said and "'op_forward'" in said
        else:
            assert said is None
            np.testing.assert_array_equal(y, expected)
        raised.add(said is not None)
    assert (True in raised) is (name not in ("same condition", "caught", "caught in a loop"))


def test_a_helper_of_numbas(tmp_path: Path) -> None:
    text = """
        import numba

        @numba.njit
        def last(n):
            for i in range(n):
                k = i
            return k

        def forward(args, outs):
            (x,), (y,) = args, outs
            y[0] = last(int(x[0]))
        """
    x, y = np.array([2.0]), np.zeros(1)
    built = build(kernel_of(tmp_path, text), [x], [y])
    assert built.reason is None
    assert run(built, [x], [y]) is None and y[0] == 1
    # Called by Python, it is numba's, which reads a zero.
    with pytest.warns(PykernelsWarning, match="a variable without a value"):
        assert run(built, [np.zeros(1)], [y]) is None and y[0] == 0


@pytest.mark.parametrize(
    "before, within",
    [
        ("k = 2.0; del k", "return k"),
        ("", "k = 2.0; del k; return k"),
        ("", "if number > 9: k = 1.0\n        return k"),
    ],
)
def test_what_runs_as_python(tmp_path: Path, before: str, within: str) -> None:
    text = f"""
def forward(args, outs):
    (x,), (y,) = args, outs
    for i in range(len(x)):
        y[i] = x[i]
    k = 1.0
    {before}
    def value(number):
        {within}
    y[0] = value(x[0])
"""
    x, y = np.array([2.0]), np.zeros(1)
    with pytest.warns(PykernelsWarning, match="runs as Python"):
        built = build(kernel_of(tmp_path, text), [x], [y])
    said = run(built, [x], [y])
    assert said is not None and "variable 'k'" in said


def test_caught_in_a_loop(tmp_path: Path) -> None:
    """An exception that numba raises in a `try` is over with the handler."""
    text = """
        def positive(number):
            if number < 0:
                raise ValueError
            return number

        def forward(args, outs):
            (x,), (y,) = args, outs
            for i in range(len(x)):
                try:
                    y[i] = x[int(x[i])]
                except Exception:
                    y[i] = 4
            y[0] = positive(x[0])
        """
    x, y = np.array([1.0, 9, 0, 8, 2]), np.zeros(5)
    built = build(kernel_of(tmp_path, text), [x], [y])
    assert built.reason is None and run(built, [x], [y]) is None
    np.testing.assert_array_equal(y, [1, 4, 1, 4, 0])
    said = run(built, [np.array([-1.0, 9, 0, 8, 2])], [y])
    assert said is not None and "ValueError" in said
