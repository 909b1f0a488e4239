"""Attributes that Python or NumPy refuse in a kernel are refused when it is compiled, in the same words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run

from pykernels import PykernelsWarning
from pykernels.base.errors import KernelError
from pykernels.kernel import reference

NEEDS_NUMPY_2 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="before NumPy 2, the number decides on the dtype"
)


def compute(
    folder: Path, expression: str, x: np.ndarray, numbers: Mapping[str, Any], dtype: Any, form: str
) -> tuple[np.ndarray, str | None, np.ndarray, str | None]:
    """What a kernel gives, and how it fails, if it does; the same for its plain run."""
    keywords = f", *, {', '.join(numbers)}" if numbers else ""
    body = f"def forward(args{keywords}):\n    (x,) = args\n    return {expression}\n"
    kernel = kernel_of(folder, body)
    out, expected = np.zeros(x.shape, dtype), np.zeros(x.shape, dtype)
    told = None
    try:
        reference.run(kernel, "op_forward", (x,), (expected,), ["y"], numbers)
    except KernelError as error:
        told = str(error)
    built = build(kernel, [x], [out], numbers)
    assert built.facts.form == form
    return out, run(built, [x], [out], numbers), expected, told


FORMS = {"elementwise": "", "fused": " + 0 * x.max(axis=0)"}
RAISING: list[tuple[str, dict[str, Any], str]] = [
    ("x * (1 / a)", {"a": 0.0}, "ZeroDivisionError: float division by zero"),
    ("x * (3 % a)", {"a": 0.0}, "ZeroDivisionError: float modulo"),
    ("x * (3 // a)", {"a": -0.0}, "ZeroDivisionError: float"),
    ("x + a ** -1", {"a": 0.0}, "ZeroDivisionError: 0.0 cannot be raised to a negative power"),
    ("x + a ** 2", {"a": 1e200}, "OverflowError"),
    ("x + math.pow(a, 0.5)", {"a": -1.0}, "ValueError: math domain error"),
    ("x + math.log(a)", {"a": 0.0}, "ValueError: math domain error"),
    ("x * math.sqrt(a)", {"a": -1.0}, "ValueError: math domain error"),
    ("x * math.exp(a)", {"a": 1000.0}, "OverflowError: math range error"),
    ("x * (k // j)", {"k": 3, "j": 0}, "ZeroDivisionError: integer division or modulo by zero"),
    ("x * (k % j)", {"k": 3, "j": 0}, "ZeroDivisionError: integer"),
    ("x * (k / j)", {"k": 3, "j": 0}, "ZeroDivisionError: division by zero"),
    ("x + (k << j)", {"k": 1, "j": -2}, "ValueError: negative shift count"),
    ("x + (k >> j)", {"k": 1, "j": -2}, "ValueError: negative shift count"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("expression", "numbers", "told"), RAISING, ids=[each[0] for each in RAISING])
def test_what_python_refuses(tmp_path: Path, expression: str, numbers: dict[str, Any], told: str, form: str) -> None:
    x = np.arange(5, dtype=np.float32)
    _, failure, _, expected = compute(tmp_path, expression + FORMS[form], x, numbers, np.float32, form)
    assert expected is not None and told in expected
    assert failure == expected
    fine = {name: 2.0 if isinstance(number, float) else 2 for name, number in numbers.items()}
    out, failure, wanted, expected = compute(tmp_path, expression + FORMS[form], x, fine, np.float32, form)
    assert failure is None and expected is None
    np.testing.assert_array_equal(out, wanted)


def test_what_is_no_whole_number(tmp_path: Path) -> None:
    x = np.arange(5, dtype=np.float32)
    for a, told in ((math.nan, "ValueError: cannot convert float NaN"), (math.inf, "OverflowError: cannot convert")):
        _, failure, _, expected = compute(tmp_path, "x + int(a)", x, {"a": a}, np.float32, "elementwise")
        assert failure == expected is not None and told in expected


LOOPS = """
def forward(args, outs, *, {names}):
    (x,), (y,) = args, outs
    for i in range(x.size):
        y[i] = {expression}
"""


def test_what_python_refuses_in_loops(tmp_path: Path) -> None:
    x, y = np.ones(2, np.float32), np.zeros(2, np.float32)
    for expression in ("x[i] * (1 / a)", "x[i] + math.log(a)"):
        kernel = kernel_of(tmp_path, LOOPS.format(names="a", expression=expression))
        told = run(build(kernel, [x], [y], {"a": 0.0}), [x], [y], {"a": 0.0})
        assert told is not None and ("ZeroDivisionError" in told or "ValueError: math domain error" in told)
        assert run(build(kernel, [x], [y], {"a": 1.0}), [x], [y], {"a": 1.0}) is None
    kernel = kernel_of(tmp_path, LOOPS.format(names="k, j", expression="x[i] + k // j + k % j + 2**j"))
    built = build(kernel, [x], [y], {"k": 3, "j": 2})
    assert "ZeroDivisionError" in str(run(built, [x], [y], {"k": 3, "j": 0}))
    with pytest.warns(PykernelsWarning, match="does not raise"):  # 2**-1 is no whole number
        assert run(built, [x], [y], {"k": 3, "j": -1}) is None
    assert y.tolist() == [-1.5, -1.5]
    assert run(built, [x], [y], {"k": 3, "j": 2}) is None
    assert y.tolist() == [7, 7]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ("int(a)", {math.nan: "cannot convert float NaN", math.inf: "cannot convert float infinity"}),
        ("round(a)", {math.nan: "cannot convert float NaN"}),
        ("math.floor(a) + math.ceil(a)", {math.nan: "cannot convert float NaN", -math.inf: "cannot convert float inf"}),
        ("divmod(7.0, a)[0]", {0.0: "ZeroDivisionError"}),
        ("divmod(7, round(a))[1]", {0.0: "ZeroDivisionError", 0.5: "ZeroDivisionError"}),
        ("pow(a, -1.0)", {-0.0: "ZeroDivisionError"}),
    ],
)
def test_pythons_functions_of_attributes_in_loops(tmp_path: Path, expression: str, wrong: dict[float, str]) -> None:
    x, y = np.ones(2, np.float32), np.zeros(2, np.float32)
    kernel = kernel_of(tmp_path, LOOPS.format(names="a", expression=f"x[i] + {expression}"))
    for a in (*wrong, 2.75, -3.0, -1e15):
        told = run(build(kernel, [x], [y], {"a": a}), [x], [y], {"a": a})
        if a in wrong:
            assert told is not None and wrong[a] in told
        else:
            assert told is None
            assert (y == np.float32(1) + np.float32(eval(expression, {"math": math, "a": a}))).all()


def test_whole_numbers_beside_narrow_elements_in_loops(tmp_path: Path) -> None:
    indices, out = np.uint8([1, 200]), np.zeros(2, np.uint8)
    kernel = kernel_of(tmp_path, LOOPS.format(names="k", expression="x[i] + k if x[i] > k else x[i]"))
    built = build(kernel, [indices], [out], {"k": 300})
    for k in (300, 100):
        assert run(built, [indices], [out], {"k": k}) is None
    assert out.tolist() == [1, 44]
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        with pytest.warns(PykernelsWarning, match="does not raise"):
            assert run(built, [indices], [out], {"k": -1}) is None
        assert out.tolist() == [0, 199]
    else:
        assert "OverflowError" in str(run(built, [indices], [out], {"k": -1}))


def test_lengths_are_numbers_of_pythons(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    (x,) = args\n    return x.sum(axis=0) * (1 / x.shape[0])\n")
    out = np.zeros(3, np.float32)
    for n in (0, 4):
        x = np.ones((n, 3), np.float32)
        built = build(kernel, [x], [out])
        assert built.facts.form == "fused"
        told = run(built, [x], [out])
        assert (told is None) == (n == 4)
        assert told is None or "ZeroDivisionError: division by zero" in told


@NEEDS_NUMPY_2
@pytest.mark.parametrize(
    "statement",
    [
        *("y[i] = x[i] + 300", "y[i] = -1 * x[i]", "y[i] += 300", "y[x[i] :] -= -1", "y[i] *= k", "y[y > 0] += k"),
        "y[i] = np.where(x[i] > 1, k, x[i])",
    ],
)
def test_whole_numbers_that_elements_cannot_hold_in_loops(tmp_path: Path, statement: str) -> None:
    x, y = np.uint8([0, 1, 2]), np.ones(3, np.uint8)
    body = f"    (x,), (y,) = args, outs\n    k = -len(x)\n    for i in range(x.size):\n        {statement}\n"
    built = build(kernel_of(tmp_path, f"def forward(args, outs):\n{body}"), [x], [y])
    try:
        wanted = plain(built.function, [x], [y])[0]
    except KernelError as error:
        assert "OverflowError: Python integer" in str(error) and run(built, [x], [y]) == str(error)
    else:
        assert "where" in statement  # of which only the newest NumPy raises
        with pytest.warns(PykernelsWarning, match="does not raise"):
            assert run(built, [x], [y]) is None
        assert y.tolist() == wanted.tolist()


def test_numbers_in_place_have_the_dtype_of_the_array(tmp_path: Path) -> None:
    x, y = np.int32([1, 0]), np.float32([0.1, 0.2])
    body = "(x,), (y,) = args, outs\n    y[:] = 0.3\n    y[x[0]] *= 1.1\n    y[x[1]] += 1e-9\n"
    assert run(build(kernel_of(tmp_path, f"def forward(args, outs):\n    {body}"), [x], [y]), [x], [y]) is None
    assert y.tolist() == [np.float32(0.3) + np.float32(1e-9), np.float32(0.3) * np.float32(1.1)]


@NEEDS_NUMPY_2
@pytest.mark.parametrize("form", FORMS)
def test_bounds_of_clip_that_a_dtype_cannot_hold(tmp_path: Path, form: str) -> None:
    x = np.uint8([0, 2, 250])
    bounds = [("-1, 200", {}), ("3, 300", {}), *(("low, high", {"low": a, "high": b}) for a, b in ((-5, 7), (3, 999)))]
    for given, numbers in bounds:
        expression = f"np.clip(x, {given}){FORMS[form]}"
        out, failure, wanted, expected = compute(tmp_path, expression, x, numbers, np.uint8, form)
        assert failure is expected is None
        np.testing.assert_array_equal(out, wanted)
    failure = compute(tmp_path, "np.clip(x, low, high)" + FORMS[form], x, {"low": 300, "high": 400}, np.uint8, form)[1]
    assert failure is not None and "OverflowError: Python integer 300 out of bounds for uint8" in failure


@pytest.mark.thorough
@NEEDS_NUMPY_2
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.uint64])
@pytest.mark.parametrize("expression", ["x + k", "np.maximum(k, x)"])
def test_what_a_dtype_cannot_hold(tmp_path: Path, expression: str, dtype: type[np.integer], form: str) -> None:
    x, limits = np.array([1, 2, 5], dtype), np.iinfo(dtype)
    for k in (int(limits.min), min(int(limits.max), 2**63 - 1), -(2**62), 2**62):
        out, failure, wanted, expected = compute(tmp_path, expression + FORMS[form], x, {"k": k}, dtype, form)
        assert failure == expected
        assert (expected is None) == (limits.min <= k <= limits.max)
        assert expected is None or f"OverflowError: Python integer {k} out of bounds for {x.dtype}" in expected
        np.testing.assert_array_equal(out, wanted)


COMPARISONS = "x < k, x <= k, x > k, x >= k, x == k, x != k"


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint32", "int64", "uint64"])
def test_comparisons_with_what_a_dtype_cannot_hold(tmp_path: Path, dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = np.array([limits.min, 0, 1, 44, limits.max], dtype)
    outs = [np.zeros(x.shape, bool) for _ in range(6)]
    text = "def forward(args{}):\n    (x,) = args\n    return {}\n"
    attribute = kernel_of(tmp_path / "attribute", text.format(", *, k", COMPARISONS))
    for k in (-1, 0, 300, 2**40, -(2**63), 2**63 - 1):
        known = kernel_of(tmp_path / "known", text.format("", COMPARISONS.replace("k", str(k))))
        for kernel, numbers in ((attribute, {"k": k}), (known, {})):
            built = build(kernel, [x], outs, numbers)
            assert built.facts.form == "elementwise"
            assert run(built, [x], outs, numbers) is None
            wanted = [eval(COMPARISONS, {"x": int(each), "k": k}) for each in x]
            np.testing.assert_array_equal(np.transpose(outs), wanted)


def test_what_is_not_chosen_is_not_computed(tmp_path: Path) -> None:
    x = np.arange(3, dtype=np.float32)
    for j in (0, 2):
        out, failure, wanted, expected = compute(
            tmp_path, "x + (6 // j if j else 1)", x, {"j": j}, np.float32, "whole-array"
        )
        assert failure is None and expected is None
        np.testing.assert_array_equal(out, wanted)


def test_casts_to_float16_round(tmp_path: Path) -> None:
    """Where a kernel asks for float16 in between, it gets its precision and its range."""
    x = np.float32([1.0001, 3.14159, 70000, -1e-9, 0.1])
    for form, more in {"elementwise": "", "fused": " + 0 * x.max(axis=0)"}.items():
        expression = f"x.astype(np.float16).astype(np.float32) * 3{more}"
        out, failure, wanted, _ = compute(tmp_path, expression, x, {}, np.float32, form)
        assert failure is None
        np.testing.assert_array_equal(out, wanted)
