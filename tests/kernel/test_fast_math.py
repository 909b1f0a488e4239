"""``FAST_MATH = True`` in a kernel file: LLVM may change the kernel's own arithmetic, in every form, and only then."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run

from pykernels.base.errors import KernelError
from pykernels.kernel.emit import target
from pykernels.kernel.facts import ELEMENTWISE, FUSED, LOOPS, PYTHON, WHOLE_ARRAY
from pykernels.kernel.read.source import KernelFunction, KernelSource

KERNELS = {
    ELEMENTWISE: """
def forward(args):
    (x,) = args
    return x * 3 + np.tanh(x) / 7 - 1 / (1 + np.exp(-x))
""",
    FUSED: """
def forward(args):
    (x,) = args
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
""",
    LOOPS: """
def forward(args, outs):
    (x,), (y,) = args, outs
    for i in range(x.shape[0]):
        total = x.dtype.type(0)
        for k in range(x.shape[1]):
            total += x[i, k] * np.exp(x[i, k] / 3)
            y[i, k] = total
""",
    WHOLE_ARRAY: """
def forward(args):
    (x,) = args
    return np.exp(np.sort(x, axis=1)) * 3 + x
""",
}
FAST = "FAST_MATH = True\n"
_FLAGGED = re.compile(r"= (f\w+) ((?:(?:reassoc|nnan|ninf|nsz|arcp|contract|afn|fast) )+)")


@pytest.fixture
def flags(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Instructions that LLVM may change, and how, of whatever is compiled from now on, before LLVM changes it."""
    seen: set[tuple[str, str]] = set()
    optimise = target.optimise

    def look(module: Any, **options: Any) -> None:
        seen.update((name, given.strip()) for name, given in _FLAGGED.findall(str(module)))
        optimise(module, **options)

    monkeypatch.setattr(target, "optimise", look)
    return seen


def fresh(folder: Path, text: str) -> KernelFunction:
    """The function of a kernel file with this text, which no cache has."""
    return kernel_of(folder, f"# {uuid.uuid4()}\n{text}")


def computed(kernel: KernelFunction, form: str, x: np.ndarray) -> np.ndarray:
    y = np.zeros_like(x)
    built = build(kernel, [x], [y])
    assert built.facts.form == form, built.facts.reason
    assert built.facts.fast_math == kernel.fast_math
    assert run(built, [x], [y]) is None
    return y


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("form", KERNELS)
def test_arithmetic_may_change_and_results_stay_near(
    tmp_path: Path, flags: set[tuple[str, str]], form: str, dtype: str
) -> None:
    if form == LOOPS and dtype == "float16" and np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        pytest.skip("loops of NumPy 2 round float16 at every step")
    x = np.random.default_rng(0).standard_normal((9, 301)).astype(dtype)
    kernel = fresh(tmp_path, FAST + KERNELS[form])
    y = computed(kernel, form, x)
    assert {how for _, how in flags} == {"reassoc nsz arcp contract"}
    assert {name for name, _ in flags} >= {"fadd", "fmul" if form == WHOLE_ARRAY else "fdiv"}
    digits = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(y, plain(kernel, [x], [y])[0], rtol=digits, atol=digits)


@pytest.mark.thorough
@pytest.mark.parametrize("first_line", ["", "FAST_MATH = False\n"])
@pytest.mark.parametrize("form", KERNELS)
def test_nothing_changes_unless_asked_for(
    tmp_path: Path, flags: set[tuple[str, str]], form: str, first_line: str
) -> None:
    x = np.random.default_rng(0).standard_normal((9, 301)).astype(np.float32)
    computed(fresh(tmp_path, first_line + KERNELS[form]), form, x)
    assert not flags


def test_sums_in_loops_have_several_accumulators_all_the_same(tmp_path: Path, flags: set[tuple[str, str]]) -> None:
    body = """
def forward(args, outs):
    (x,), (y,) = args, outs
    for i in range(x.shape[0]):
        total = x.dtype.type(0)
        for k in range(x.shape[1]):
            total += x[i, k] * x[i, k]
        y[i, :] = total
"""
    x = np.ones((3, 300), np.float32)
    assert (computed(fresh(tmp_path / "plain", body), LOOPS, x) == 300).all()
    assert flags == {("fadd", "reassoc")}
    assert (computed(fresh(tmp_path / "fast", FAST + body), LOOPS, x) == 300).all()


def test_a_product_and_a_sum_are_rounded_once(tmp_path: Path) -> None:
    if not target.instruction_set().has_fma:
        pytest.skip("this processor has no instruction that multiplies and adds")
    body = "def forward(args):\n    (x,) = args\n    return x * x - 1\n"
    x = np.full(300, 1 + 2**-12, np.float32)
    # The last bit of the square does not fit float32.
    assert (computed(fresh(tmp_path / "plain", body), ELEMENTWISE, x) == np.float32(2**-11)).all()
    fast = computed(fresh(tmp_path / "fast", FAST + body), ELEMENTWISE, x)
    assert (fast == np.float32(2**-11 + 2**-24)).all()


@pytest.mark.parametrize("form", [ELEMENTWISE, LOOPS])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mathematics_stays_as_exact_as_ever(tmp_path: Path, dtype: str, form: str) -> None:
    body = """
def forward(args):
    (x,) = args
    return np.where(x < 9, np.exp(x), np.where(x < 99, np.log(x), np.where(x < 999, np.log1p(x), np.tanh(x / 1024))))
"""
    if form == LOOPS:
        body = """
def forward(args, outs):
    (x,), (y,) = args, outs
    for i in range(len(x)):
        if x[i] < 9:
            y[i] = np.exp(x[i])
        elif x[i] < 99:
            y[i] = np.log(x[i])
        else:
            y[i] = np.log1p(x[i]) if x[i] < 999 else np.tanh(x[i] / 1024)
"""
    x = 10 ** np.random.default_rng(0).uniform(-6, 4, 10_000).astype(dtype)
    results = [computed(fresh(tmp_path / str(at), how + body), form, x) for at, how in enumerate(["", FAST])]
    np.testing.assert_array_equal(*results)


def test_sigmoid_is_zero_far_below_zero(tmp_path: Path) -> None:
    body = "def forward(args):\n    (x,) = args\n    return 1 / (1 + np.exp(-x))\n"
    x = np.full(300, -1000, np.float32)  # whose exp(-x) is infinite
    assert (computed(fresh(tmp_path, FAST + body), ELEMENTWISE, x) == 0).all()


def test_another_kernel_of_the_process_is_not_concerned(tmp_path: Path, flags: set[tuple[str, str]]) -> None:
    """Functions that numba compiles once for all kernels do not carry it over."""
    body = "def forward(args, outs):\n    outs[0][:] = args[0] - args[0].mean()\n"
    x = np.random.default_rng(0).standard_normal(301).astype(np.float32)
    computed(fresh(tmp_path / "fast", FAST + body), WHOLE_ARRAY, x)
    assert {name for name, _ in flags} >= {"fsub", "fdiv"}
    flags.clear()
    computed(fresh(tmp_path / "plain", body), WHOLE_ARRAY, x)
    assert flags == {("fadd", "reassoc")}  # of the sum, as ever


@pytest.mark.thorough
def test_python_knows_nothing_of_it(tmp_path: Path) -> None:
    kernel = fresh(tmp_path, FAST + "def forward(args):\n    return eval('args[0] * 2')\n")
    x = np.ones(3, np.float32)
    with pytest.warns(match="runs as Python"):
        built = build(kernel, [x], [x])
    assert built.facts.form == PYTHON
    assert not built.facts.fast_math


@pytest.mark.parametrize("value", ["1", "'yes'", "None", "{'nnan'}"])
def test_what_is_no_truth_value_is_refused(tmp_path: Path, value: str) -> None:
    path = tmp_path / "op_py_kernel.py"
    path.write_text(f"FAST_MATH = {value}\ndef forward(args):\n    return args[0]\n")
    with pytest.raises(
        KernelError, match=rf"op_py_kernel\.py: FAST_MATH is {re.escape(value)}\. Write FAST_MATH = True"
    ):
        KernelSource(path)
