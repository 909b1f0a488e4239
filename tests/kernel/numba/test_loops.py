"""Loops: checked once, computed several elements at a time, and yet what the plain NumPy run gives."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from compiled import build, kernel_of, plain, run
from quick import thorough

import pykernels
from pykernels.base.errors import KernelError
from pykernels.kernel.facts import LOOPS
from pykernels.kernel.numba.llvm_ir import reductions


def agree(folder: Path, body: str, *inputs: np.ndarray, like: Any = None, tolerance: float = 2e-6) -> np.ndarray:
    """The compiled kernel with this body gives what the plain run gives; returns it."""
    names = ", ".join("xwzuv"[: len(inputs)])
    lines = "\n    ".join([f"({names},), (y,) = args, outs", "y[:] = 0", *body.strip("\n").split("\n")])
    kernel = kernel_of(folder, f"def forward(args, outs):\n    {lines}\n")
    outputs = [np.zeros_like(inputs[0] if like is None else like)]
    built = build(kernel, inputs, outputs)
    assert built.facts.form == LOOPS
    assert run(built, inputs, outputs) is None
    with np.errstate(all="ignore"):
        (expected,) = plain(kernel, inputs, outputs)
    np.testing.assert_allclose(outputs[0], expected, rtol=tolerance, atol=tolerance)
    return outputs[0]


def fails(folder: Path, body: str, *inputs: np.ndarray, like: Any = None) -> str:
    """What a kernel with this body is refused with."""
    names = ", ".join("xwzuv"[: len(inputs)])
    lines = "\n    ".join([f"({names},), (y,) = args, outs", *body.strip("\n").split("\n")])
    kernel = kernel_of(folder, f"def forward(args, outs):\n    {lines}\n")
    # The memory behind the output is ours, too, so that a write past its end would show.
    room = np.full((inputs[0] if like is None else like).size + 64, 7, inputs[0].dtype)
    output = room[:-64].reshape((inputs[0] if like is None else like).shape)
    said = run(build(kernel, inputs, [output]), inputs, [output])
    assert (room[-64:] == 7).all()
    assert said is not None
    return said


def test_loops_over_several_things(tmp_path: Path) -> None:
    body = """
s = 0.0
for i in reversed(range(1, len(x), 3)):
    s = s / 2 + x[i]
    y[i] = s
for i in reversed(range(7, len(x) - 30, -2)):
    y[i] += x[i + 1] * i
for i, (a, b) in enumerate(zip(reversed(x), w)):
    y[i] += a * i - b
for n in reversed(x.shape):
    y /= n
for j in reversed(range(0)):
    y[j] = j"""
    agree(tmp_path, body, *np.random.default_rng(3).standard_normal((2, 25)).astype(np.float32))


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(len(x)):\n    y[i] = 2 * x[i]",
        "for i in range(1, len(x)):\n    y[i] = x[i] - x[i - 1]",
        "for i in range(len(x)):\n    y[i] = x[i - 1]",  # which begins at the end
        "for i in range(len(x)):\n    y[-1 - i] = x[i]",
        "for i in range(-len(x), 0):\n    y[i] = x[i]",
        "for i in range(len(x) // 2):\n    y[2 * i] = x[2 * i + 1]",
        "for i in range(5, 3):\n    y[i] = x[i + 1000]",
        "for i in range(len(x)):\n    if x[i] > 0:\n        y[i] = x[i]\n    else:\n        y[i] = 0",
        *thorough(
            "for i in range(len(x)):\n    if i + 1 < len(x):\n        y[i] = x[i + 1]",
            "for i in range(len(x)):\n    y[i] = x[i + 1] if i + 1 < len(x) else x[i]",
            "for i in range(len(x)):\n    y[i] = i + 1 < len(x) and x[i + 1] > 0",
            "for i in range(2 * len(x)):\n    if i >= len(x):\n        break\n    y[i] = x[i]",
            "for i in range(2 * len(x)):\n    if i >= len(x):\n        continue\n    y[i] += x[i]",
            "k = 0\nfor i in range(len(x)):\n    y[k] = x[k]\n    k += 1",
            "y[:] = 0\nfor i in range(len(x)):\n    y[i] += x[i]\n    y[i] *= 3",
            "for i in range(len(x)):\n    for j in range(i):\n        y[i] = x[i] + x[j]",
            "order = np.argsort(x)\nfor i in range(len(x)):\n    y[i] = x[order[i]]",
            "picked = x[np.arange(3)]\nfor i in range(3):\n    y[i] = picked[i]",
            "pair = (3 * x, 2 * x)\nfor i in range(2):\n    y[i] = pair[i][0]",
        ),
    ],
)
def test_indices(tmp_path: Path, body: str) -> None:
    agree(tmp_path, body, np.random.default_rng(0).standard_normal(37).astype(np.float32))


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(len(x) + 1):\n    y[i] = 1",
        "for i in range(len(x)):\n    y[i] = x[i + 1]",
        "for i in range(len(x)):\n    y[i] = x[i - len(x) - 1]",
        "for i in range(len(x)):\n    y[2 * i] = x[i]",
        "for i in range(len(x)):\n    y[i * len(x)] = x[i]",
        "k = 1 << 62\nfor i in range(3):\n    y[i * k] = 1",
        "k = 0\nfor i in range(len(x) + 1):\n    y[k] = 1\n    k += 1",
        "for i in range(len(x)):\n    if x[i] > 10:\n        y[i + 100000] = 1\n    y[i + 1] = 0",
    ],
)
def test_what_is_past_the_end_raises_and_is_not_written(tmp_path: Path, body: str) -> None:
    said = fails(tmp_path, body, np.arange(20, dtype=np.float32))
    assert "op_py_kernel.py:" in said
    assert "IndexError" in said


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("dtype", "offset", "size"), [("uint64", 5, 12), ("int8", 120, 130), ("uint8", 250, 256), ("int64", -130, 128)]
)
def test_offsets_of_any_dtype_stay_within_the_array(tmp_path: Path, dtype: str, offset: int, size: int) -> None:
    room = np.full(size + 512, np.nan, np.float32)
    x = room[256:-256]
    x[:] = 1
    body = "k = w[0]\nfor i in range(10):\n    y[i] = x[i + k]"
    lines = "\n    ".join(["(x, w), (y,) = args, outs", *body.split("\n")])
    kernel = kernel_of(tmp_path, f"def forward(args, outs):\n    {lines}\n")
    inputs, output = [x, np.array([offset], dtype)], np.zeros(10, np.float32)
    said = run(build(kernel, inputs, [output]), inputs, [output])
    assert "IndexError" in said if said else (output == 1).all()
    assert not np.isnan(output).any()


@pytest.mark.parametrize("n", [0, 1, 7, 16, 33, 1000, 100_003])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_are_at_least_as_good_as_in_turn(tmp_path: Path, n: int, dtype: str) -> None:
    x = np.random.default_rng(n).uniform(0, 1, n).astype(dtype)
    body = "total = x.dtype.type(0)\nfor i in range(len(x)):\n    total += x[i]\ny[0] = total"
    result = agree(tmp_path, body, x, like=np.empty(1, dtype), tolerance=1e-3 if dtype == "float32" else 1e-10)
    exact = np.sum(x, dtype=np.longdouble)
    in_turn = np.cumsum(x)[-1] if n else 0
    spacing = np.spacing(np.asarray(exact, dtype))
    assert abs(result[0] - exact) <= abs(in_turn - exact) + 2 * spacing


def test_a_sum_that_is_read_on_the_way_is_made_in_turn(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    running = "total = np.float32(0)\nfor i in range(len(x)):\n    total += x[i]\n    y[i] = total"
    np.testing.assert_array_equal(agree(tmp_path / "running", running, x), np.cumsum(x))
    kahan = """
total, lost = np.float32(0), np.float32(0)
for i in range(len(x)):
    term = x[i] - lost
    after = total + term
    lost = (after - total) - term
    total = after
y[0] = total
"""
    x = np.full(100_000, 0.1, np.float32)
    exact = np.float32(np.sum(x, dtype=np.float64))
    assert agree(tmp_path / "kahan", kahan, x, like=np.empty(1, np.float32))[0] == exact


@pytest.mark.thorough
@pytest.mark.parametrize("function", ["max", "min"])
@pytest.mark.parametrize("nan_at", [(), (0,), (5,), (0, 1, 2), (39,)])
@pytest.mark.parametrize("first", ["x[0]", "x.dtype.type(-np.inf)", "x.dtype.type(np.nan)"])
def test_extrema_pass_over_nan_as_pythons_do(
    tmp_path: Path, function: str, nan_at: tuple[int, ...], first: str
) -> None:
    x = np.random.default_rng(1).standard_normal(40).astype(np.float32)
    x[list(nan_at)] = np.nan
    body = f"top = {first}\nfor i in range(len(x)):\n    top = {function}(top, x[i])\ny[0] = top"
    agree(tmp_path, body, x, like=np.empty(1, np.float32), tolerance=0)


FUNCTIONS = ("exp", "log", "log1p", "expm1", "tanh", "sin", "cos", "sqrt", "arctan")


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_mathematics_in_loops(tmp_path: Path, function: str, dtype: str) -> None:
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 100, -100, 1e-30, 2.5]
    x = np.array([*special, *np.random.default_rng(0).uniform(0.01, 4, 40)], dtype)
    tolerance = 1e-6 if dtype == "float32" else 1e-14
    agree(tmp_path, f"for i in range(len(x)):\n    y[i] = np.{function}(x[i])", x, tolerance=tolerance)


def test_an_element_is_the_same_wherever_it_lies(tmp_path: Path) -> None:
    text = """
        def forward(args, outs):
            (x,), (y,) = args, outs
            for i in range(len(x)):
                y[i] = np.exp(x[i]) + np.tanh(x[i]) + np.log1p(np.exp(x[i]))
    """
    kernel = kernel_of(tmp_path, text)
    x = np.random.default_rng(0).standard_normal(100).astype(np.float32)
    built = build(kernel, [x], [x])
    whole = np.empty_like(x)
    run(built, [x], [whole])
    for at in range(100):
        one = np.empty(1, np.float32)
        run(built, [x[at : at + 1]], [one])
        assert one[0] == whole[at]


def test_the_library_functions_are_named(tmp_path: Path) -> None:
    lines = ["(x,), (y,) = args, outs", "for i in range(len(x)):", "    y[i] = np.exp(x[i])"]
    text = "\n    ".join(["def forward(args, outs):", *lines])
    x = np.ones(3, np.float32)
    facts = build(kernel_of(tmp_path, text), [x], [x]).facts
    assert facts.vector_math == ("expf",)
    assert facts.scalar_math == ()


@pytest.mark.thorough
def test_numbas_own_compiled_functions_can_be_called(tmp_path: Path) -> None:
    text = """
        import numba

        @numba.njit
        def half(x):
            return x / 2

        def forward(args, outs):
            (x,), (y,) = args, outs
            order = np.argsort(x, kind="mergesort")
            for i in range(len(x)):
                y[i] = half(x[order[i]])
    """
    x = np.float64([3, 1, 2])
    y = np.empty(3)
    built = build(kernel_of(tmp_path, text), [x], [y])
    assert built.reason is None
    assert run(built, [x], [y]) is None
    np.testing.assert_array_equal(y, [0.5, 1, 1.5])


def test_functions_that_others_compile_with_numba_can_be_called(tmp_path: Path) -> None:
    x, y = np.array([3]), np.zeros(1, np.int64)
    for name, expression in ("before", "int(a)"), ("after", "4 + int(a)"):
        (tmp_path / name).mkdir()
        text = f"def forward(args, outs):\n    (x,), (y,) = args, outs\n    for a in x:\n        y[0] = {expression}\n"
        built = build(kernel_of(tmp_path / name, text), [x], [y])
        assert built.reason is None
        assert run(built, [x], [y]) is None
        assert numba.njit(lambda number: int(number))(5) == 5
    assert y[0] == 7


def test_only_the_sum_of_a_loop_is_marked() -> None:
    code = """
define float @f(ptr %x, i64 %n, float %a) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %added, %loop ]
  %at = getelementptr float, ptr %x, i64 %i
  %value = load float, ptr %at, align 4
  %other = fadd float %value, %a
  %added = fadd float %sum, %other
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop

end:
  %twice = fadd float %added, %added
  ret float %twice
}
"""
    marked = reductions.mark(code)
    assert marked.count("reassoc") == 1
    assert "%added = fadd reassoc float %sum, %other" in marked


# ---- prange


def text_begins_at(folder: Path) -> int:
    """The line of the definition in the file that `loop_kernel` wrote."""
    return (folder / "op_py_kernel.py").read_text().split("\n").index("def forward(args, outs):") + 1


def loop_kernel(folder: Path, text: str) -> Any:
    return kernel_of(folder, "import pykernels\n\n\n" + text)


ROWS = """
def forward(args, outs, *, alpha):
    (x, w), (y, total) = args, outs
    for i in pykernels.prange(len(x)):
        s = np.float32(0)
        for j in range(x.shape[1]):
            y[i, j] = np.exp(alpha * x[i, j]) * w[j]
            s += y[i, j]
        total[i] = s
"""


@pytest.mark.parametrize("rows", [0, 1, 7, 24])
def test_pieces_are_the_whole_to_the_last_bit(tmp_path: Path, rows: int) -> None:
    kernel = loop_kernel(tmp_path, ROWS)
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((rows, 13)).astype(np.float32), rng.standard_normal(13).astype(np.float32)]
    numbers = {"alpha": 0.5}
    whole = [np.empty((rows, 13), np.float32), np.empty(rows, np.float32)]
    built = build(kernel, inputs, whole, numbers)
    assert built.facts.in_pieces
    assert built.struct.flags == 4
    assert run(built, inputs, whole, numbers) is None
    np.testing.assert_allclose(whole[0], plain(kernel, inputs, whole, numbers)[0], rtol=1e-6)
    assert run(built, inputs, whole, numbers) is None
    n = rows * 13
    # Into the same memory: how a loop is run may depend on whether its arrays lie apart.
    pieces, whole = whole, [array.copy() for array in whole]
    for cuts in ([0, n], [0, 1, n], [0, 12, 13, 14, n], [0, n // 3, n // 2, n], list(range(n + 1))):
        for array in pieces:
            array.fill(np.nan)
        for begin, end in reversed(list(itertools.pairwise(cuts))):
            assert run(built, inputs, pieces, numbers, (min(begin, n), min(end, n))) is None
        if n:
            np.testing.assert_array_equal(pieces[0], whole[0])
            np.testing.assert_array_equal(pieces[1], whole[1])


def test_all_iterations_are_run_where_the_first_output_is_empty(tmp_path: Path) -> None:
    inputs = [np.empty((3, 0), np.float32), np.empty(0, np.float32)]
    outputs = [np.empty((3, 0), np.float32), np.full(3, 7, np.float32)]
    built = build(loop_kernel(tmp_path, ROWS), inputs, outputs, {"alpha": 0.5})
    assert run(built, inputs, outputs, {"alpha": 0.5}) is None
    np.testing.assert_array_equal(outputs[1], 0)


def test_one_loop_over_elements_is_cut_anywhere(tmp_path: Path) -> None:
    text = """
def forward(args, outs):
    (x,), (y,) = args, outs
    for i in pykernels.prange(1, len(x)):
        y[i] = np.tanh(x[i]) + x[i - 1]
"""
    kernel = loop_kernel(tmp_path, text)
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    whole, parts = np.zeros_like(x), np.zeros_like(x)
    built = build(kernel, [x], [whole])
    run(built, [x], [whole])
    cuts = [0, 1, 3, 64, 65, 500, 777, 1000]
    for begin, end in itertools.pairwise(cuts):
        run(built, [x], [parts], elements=(begin, end))
    np.testing.assert_array_equal(parts, whole)
    np.testing.assert_allclose(whole[1:], plain(kernel, [x], [whole])[0][1:], rtol=1e-5, atol=1e-6)


def test_float16_is_not_cut(tmp_path: Path) -> None:
    x = np.ones((2, 13), np.float16)
    inputs, outputs = [x, np.ones(13, np.float16)], [x.copy(), np.empty(2, np.float16)]
    assert not build(loop_kernel(tmp_path, ROWS), inputs, outputs, {"alpha": 0.5}).facts.in_pieces


@pytest.mark.parametrize(
    ("body", "line", "told"),
    [
        (["for i in LOOP(n):", "    y[i] = 1", "for i in LOOP(n):", "    y[i] = 2"], 2, "a second prange"),
        (["for k in range(n):", "    for i in LOOP(n):", "        y[i] = 1"], 1, "outermost loop"),
        (["for i in LOOP(0, n, 2):", "    y[i] = 1"], 0, "takes stop, or start and stop"),
        (["total = 0.0", "for i in LOOP(n):", "    total += x[i]", "    y[i] = total"], 2, "'total' is carried"),
        (["for i in LOOP(n):", "    if i > 9:", "        y[i] = last", "    last = x[i]"], 2, "'last' is carried"),
        (["for i in LOOP(n):", "    k = i", "y[k] = 1"], 2, "nothing may be written there"),
        (["for i in LOOP(n):", "    k = i", "print(k)"], 2, "'k' is read after the prange"),
        (["y[0] = 1", "for i in LOOP(n):", "    y[i] = 1"], 0, "nothing may be written there"),
        (["for i in LOOP(n):", "    y[0] += x[i]"], 1, "the same elements of 'y'"),
        (["for i in LOOP(n):", "    y[i] = 1", "    if x[i] > 0:", "        break"], 3, "none can end the loop"),
    ],
)
def test_iterations_that_depend_on_each_other_are_refused(
    tmp_path: Path, body: list[str], line: int, told: str
) -> None:
    lines = [
        "def forward(args, outs):",
        "    (x,), (y,) = args, outs",
        "    n = len(x)",
        *(f"    {one}" for one in body),
    ]
    text = "\n".join(lines).replace("LOOP", "pykernels.prange")
    x = np.ones(3, np.float32)
    with pytest.raises(KernelError, match=told) as error:
        build(loop_kernel(tmp_path, text), [x], [x.copy()])
    found = int(str(error.value).split("op_py_kernel.py:")[1].split(":")[0])
    assert found == line + text_begins_at(tmp_path) + 3


def test_a_prange_needs_outs(tmp_path: Path) -> None:
    lines = ["(x,) = args", "y = x.copy()", "for i in pykernels.prange(3):", "    y[i] = 1", "return y"]
    text = "\n    ".join(["def forward(args):", *lines])
    with pytest.raises(KernelError, match="takes 'outs'"):
        build(loop_kernel(tmp_path, text), [np.ones(3)], [np.ones(3)])


def test_prange_is_range_to_numpy() -> None:
    assert pykernels.prange(3) == range(3)
    assert pykernels.prange(2, 5) == range(2, 5)
    with pytest.raises(TypeError, match="stop, or start and stop"):
        pykernels.prange(0, 4, 2)
