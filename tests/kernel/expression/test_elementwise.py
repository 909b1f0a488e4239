"""Which kernels are elementwise, and what is told about those that are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, signature_of

from pykernels.kernel.expression.fused import recognise
from pykernels.kernel.expression.nodes import NotExpressible
from pykernels.kernel.facts import Facts

X = np.ones((2, 3), np.float32)

ELEMENTWISE = [
    "x",
    "np.maximum(x, 0)",
    "x * (x > 0)",
    "np.where(x > 0, x, alpha * x)",
    "np.where((x > low) & ~(x > 1), x, 0)",
    "1 / (1 + np.exp(-x))",
    "np.log1p(np.exp(x))",
    pytest.param(
        "0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))",
        marks=pytest.mark.skipif(
            np.__version__ >= "2", reason="np.sqrt makes 2 / np.pi a float64, strong since NumPy 2"
        ),
    ),
    "0.5 * x * (1 + erf(x / math.sqrt(2)))",
    "x / (1 + np.exp(-alpha * x))",
    "np.clip(alpha * x + 0.5, 0, 1)",
    "x.clip(low, None)",
    "np.clip(x, a_min=low, a_max=1)",
    "np.zeros_like(x) + x",
    "np.full_like(x, alpha) * np.ones_like(x)",
    "(x > 0).astype(x.dtype) * x",
    "(x > 0).astype(np.int32).astype(dtype='float32')",
    "x.copy() if flag else x * 1",
    "x * (alpha if flag else 1 - alpha)",
    "x * 2 if mode == 'far' else x.sum()",
    "x * (0 if other is None else 1)",
    "x * (2 if other is None and mode == 'far' else x.sum())",
    "x * ((other or 3) + (0 or mode == 'near' or 1))",
    "abs(x) ** 0.5 + x**-1 + np.power(x, 2)",
    "x * np.float32(alpha) * float(flag)",
    "x * FACTOR + tools(x, by=2)",
    "x * len((1, 2)) - max(1, 2)",
]


def recognised(folder: Path, body: str) -> None:
    text = f"""
from scipy.special import erf
FACTOR = 3
def tools(y, by):
    '''Twice, or so.'''
    z = y * by
    return inner(z)
def inner(z):
    return -z
def forward(args, *, alpha, low, flag, mode):
    x, other = *args, None
    {body}
"""
    kernel = kernel_of(folder, text.replace("x, other = *args, None", "(x,) = args\n    other = None"))
    numbers = {"alpha": 0.5, "low": -1.0, "flag": True}
    recognise(kernel, signature_of([X], [X], numbers, {"mode": "far"}).without_ranks())


@pytest.mark.parametrize("expression", ELEMENTWISE)
def test_expressions_are_elementwise(tmp_path: Path, expression: str) -> None:
    recognised(tmp_path, f"return {expression}")


@pytest.mark.parametrize(
    "body",
    [
        "y = x\n    y = y + 1\n    return y",
        "y, z = x + 1, x * 2\n    return y * z",
        "y = np.zeros_like(x)\n    y += x\n    y *= 2\n    return y",
        "if mode == 'far':\n        return x * 2\n    return x.sum()",
        "y: 'an array' = x * x\n    return y",
    ],
)
def test_statements_are_elementwise(tmp_path: Path, body: str) -> None:
    recognised(tmp_path, body)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return x.sum() * x", "the method 'sum'"),
        ("return x - np.max(x)", "a call of np.max"),
        ("return x * x.shape[0]", "the attribute 'shape'"),
        ("return x * x.size", "the attribute 'size'"),
        ("return x[::-1]", "an index"),
        ("return x.T", "the attribute 'T'"),
        ("return x @ x.T", "the attribute 'T'"),
        ("return x @ x", "a matrix product"),
        ("return x.reshape(x.shape)", "the attribute 'shape'"),
        ("y = np.empty_like(x)\n    y[...] = x\n    return y", "a call of np.empty_like"),
        ("x += 1\n    return x", "a change in place of what has another name"),
        ("y = x.astype(x.dtype, copy=False)\n    y += 1\n    return y", "a change in place of what has another name"),
        ("y = x * 1\n    z = y\n    y += 1\n    return y + z", "a change in place of what has another name"),
        ("y = (x > 0).astype(np.int32)\n    y += x\n    return x", "a change in place that does not fit"),
        ("for i in range(17):\n        x = x + i\n    return x", "a loop"),
        ("raise ValueError('later')", "an exception"),
        ("if flag:\n        return x\n    return x + 1", "a branch on what is known at run time only"),
        ("return x * (low < 0 and 2)", "a branch on what is known at run time only"),
        ("return x if x[0, 0] > 0 else -x", "an index"),
        ("return not x", "the truth of an array"),
        ("return 0 < x < 1", "a chain of comparisons"),
        ("return x * (alpha in (0.5, 1))", "alpha in"),
        ("return math.exp(x)", "math.exp takes numbers, not arrays"),
        ("return np.add(x, 1, out=x)", "a change in place of what has another name"),
        ("return np.add(x, 1, casting='no')", "a call of np.add with these arguments"),
        ("return x.astype(np.complex64)", "it returns complex64 for an output of float32"),
        ("return x.astype(np.float64)", "returns float64 for an output of float32"),
        ("return x, x", "2 results for 1 outputs"),
        ("return alpha", "not an array that is computed from an input"),
        ("return None", "not an array"),
        ("pass", "not an array"),
        ("return np.random.rand() * x", "a call of np.random.rand"),
        ("print(x)\n    return x", "print"),
        ("return (lambda y: y)(x)", "lambda"),
        ("return later + x\n    later = x", "the name later"),
        ("return x * unknown", "the name unknown"),
        ("return x & 1", "ufunc 'bitwise_and' not supported"),
        ("return (x > 0).astype(np.int32) ** x.dtype.itemsize", "returns int32"),
        ("return tools(x, 1, 2)", "a call of tools that does not fit it"),
        ("return (x > 0) - (x < 0)", "TypeError: numpy boolean subtract"),
    ],
)
def test_what_is_not_elementwise_is_reported_with_its_line(tmp_path: Path, body: str, told: str) -> None:
    with pytest.raises(NotExpressible) as raised:
        recognised(tmp_path, body)
    assert told in str(raised.value)
    assert str(raised.value).startswith("op_py_kernel.py:")


def test_kernels_that_write_into_outs_keep_their_loops(tmp_path: Path) -> None:
    text = "def forward(args, outs):\n    for i in range(3):\n        outs[0][:, i] = args[0][:, i] * 2\n"
    built = build(kernel_of(tmp_path, text), [X], [X.copy()])
    assert built.facts.form == "loops"
    assert built.facts.reason == "op_py_kernel.py:3: it writes into 'outs'"


@pytest.mark.thorough
def test_facts_of_each_form(tmp_path: Path) -> None:
    def facts(body: str) -> Facts:
        return build(
            kernel_of(tmp_path, f"def forward(args):\n    (x,) = args\n    return {body}\n"), [X], [X.copy()]
        ).facts

    plain, curved, fused = facts("x * 3"), facts("np.tanh(x) + np.exp(x)"), facts("x - x.max()")
    whole = facts("x - np.median(x)")
    assert plain == Facts("elementwise", instruction_set=plain.instruction_set)
    assert plain.vectorised and plain.instruction_set
    assert curved.form == "elementwise"
    assert {*curved.vector_math, *curved.scalar_math} == {"tanhf", "expf"}
    assert (fused.form, fused.stages, fused.reason) == ("fused", 2, "op_py_kernel.py:5: the method 'max'")
    assert fused.vectorised
    assert (whole.form, whole.reason) == ("whole-array", "op_py_kernel.py:5: a call of np.median")
    assert not whole.vectorised
    with pytest.warns(UserWarning, match="runs as Python"):
        python = facts("eval('x')")
    assert python.form == "Python" and "eval" in python.reason
    with pytest.warns(UserWarning, match="calls of Python"):
        called = facts("np.fft.fft(x).real.astype(np.float32)")
    assert [call.name for call in called.python_calls] == ["np.fft.fft"]
    for each in (plain, curved, fused, whole, python, called):
        assert Facts.from_json(each.to_json()) == each
