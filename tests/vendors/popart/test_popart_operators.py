"""popops' expressions and Poplar's views, in ops of ONNX Runtime, against NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from popart_libraries import run
from scipy import special

from pykernels.base import paths

# The libraries take long to compile.
pytestmark = pytest.mark.thorough

FLOATS = ("float32", "float16")
SIGNED = ("int8", "int16", "int32", "int64")
WHOLE = (*SIGNED, "uint8", "uint16", "uint32", "uint64")
NUMBERS = (*FLOATS, *WHOLE)
Run = Callable[..., np.ndarray]


def enumerators(kind: str) -> dict[str, int]:
    text = (paths.REGISTRY / "popart" / "include" / "popops" / "ExprOp.hpp").read_text()
    (rows,) = re.findall(rf"#define POPART_CPU_{kind}_OPERATORS\(X\)((?:.*\\\n)*.*)", text)
    return {each: number for number, each in enumerate(re.findall(r"X\((\w+),", rows))}


def round_half_away(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def bits(x: np.ndarray) -> np.ndarray:
    return np.unpackbits(x.view("uint8").reshape(-1, x.itemsize)[:, ::-1], axis=1).reshape(*x.shape, -1)


def leading_zeros(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, bits(x).shape[-1], bits(x).argmax(axis=-1))


# What each gives, and the types it is for; floats are computed in float64.
UNARY: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "ABSOLUTE": (np.abs, NUMBERS),
    "ASIN": (np.arcsin, FLOATS),
    "BITWISE_NOT": (np.invert, WHOLE),
    "CBRT": (np.cbrt, FLOATS),
    "CEIL": (np.ceil, FLOATS),
    "COS": (np.cos, FLOATS),
    "COUNT_LEADING_ZEROS": (leading_zeros, WHOLE),
    "ERF": (special.erf, FLOATS),
    "EXPONENT": (np.exp, FLOATS),
    "EXPONENT_MINUS_ONE": (np.expm1, FLOATS),
    "EXPONENT2": (np.exp2, FLOATS),
    "FLOOR": (np.floor, FLOATS),
    "GELU_ERF": (lambda x: x * special.ndtr(x), FLOATS),
    "INVERSE": (np.reciprocal, FLOATS),
    "IS_FINITE": (np.isfinite, ()),
    "IS_INF": (np.isinf, ()),
    "IS_NAN": (np.isnan, ()),
    "LOGARITHM": (np.log, FLOATS),
    "LOGARITHM_ONE_PLUS": (np.log1p, FLOATS),
    "LOGICAL_NOT": (np.logical_not, ("bool",)),
    "NEGATE": (np.negative, NUMBERS),
    "NEARBY_INT": (np.rint, FLOATS),
    "POPCOUNT": (lambda x: bits(x).sum(axis=-1), WHOLE),
    "RELU": (lambda x: np.fmax(x, 0), NUMBERS),
    "ROUND": (round_half_away, FLOATS),
    "RSQRT": (lambda x: 1 / np.sqrt(x), FLOATS),
    "SIGMOID": (special.expit, FLOATS),
    "SIGNUM": (np.sign, NUMBERS),
    "SIN": (np.sin, FLOATS),
    "SQRT": (lambda x: np.sqrt(np.maximum(x, 0) if x.dtype.kind == "i" else x), NUMBERS),
    "SQUARE": (np.square, NUMBERS),
    "TAN": (np.tan, FLOATS),
    "TANH": (np.tanh, FLOATS),
    "TRUNC": (np.trunc, FLOATS),
}


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "f":
        return a / b
    if a.dtype.kind == "u":
        return np.where(b == 0, 0, a // np.maximum(b, 1))
    # As C++ does, which cuts where Python goes down.
    quotient = np.abs(a.astype(object)) // np.maximum(np.abs(b.astype(object)), 1)
    return np.where(b == 0, 0, np.where((a < 0) == (b < 0), quotient, -quotient)).astype("int64").astype(a.dtype)


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.fmod(a, b) if a.dtype.kind == "f" else np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b)))


def shifted(x: np.ndarray, by: np.ndarray, *, left: bool = False, signed: bool = False) -> np.ndarray:
    width = 8 * x.itemsize
    kind = x.dtype if signed else np.dtype(f"u{x.itemsize}")
    used = np.clip(by.astype(object), 0, width - 1).astype(kind)
    found = (x.view(kind) << used) if left else (x.view(kind) >> used)
    gone = np.where(x < 0, -1, 0).astype(x.dtype) if signed else x.dtype.type(0)
    return np.where((by >= 0) & (by < width), found.view(x.dtype), gone)


BINARY: dict[str, tuple[Callable[[Any, Any], Any], tuple[str, ...]]] = {
    "ADD": (np.add, NUMBERS),
    "ATAN2": (np.arctan2, FLOATS),
    "BITWISE_AND": (np.bitwise_and, (*WHOLE, "bool")),
    "BITWISE_OR": (np.bitwise_or, (*WHOLE, "bool")),
    "BITWISE_XNOR": (lambda a, b: ~(a ^ b), (*WHOLE, "bool")),
    "BITWISE_XOR": (np.bitwise_xor, (*WHOLE, "bool")),
    "DIVIDE": (divide, NUMBERS),
    "EQUAL": (np.equal, ()),
    "GREATER_THAN": (np.greater, ()),
    "GREATER_THAN_EQUAL": (np.greater_equal, ()),
    "INV_STD_DEV_TO_VARIANCE": (lambda a, b: 1 / a**2 - b, FLOATS),
    "LESS_THAN": (np.less, ()),
    "LESS_THAN_EQUAL": (np.less_equal, ()),
    "LOGICAL_AND": (np.logical_and, ("bool",)),
    "LOGICAL_OR": (np.logical_or, ("bool",)),
    "MAXIMUM": (np.fmax, NUMBERS),
    "MINIMUM": (np.fmin, NUMBERS),
    "MULTIPLY": (np.multiply, NUMBERS),
    "NOT_EQUAL": (np.not_equal, ()),
    "POWER": (np.power, FLOATS),
    "REMAINDER": (remainder, NUMBERS),
    "SHIFT_LEFT": (lambda a, b: shifted(a, b, left=True), WHOLE),
    "SHIFT_RIGHT": (shifted, WHOLE),
    "SHIFT_RIGHT_SIGN_EXTEND": (lambda a, b: shifted(a, b, signed=True), WHOLE),
    "SUBTRACT": (np.subtract, NUMBERS),
    "VARIANCE_TO_INV_STD_DEV": (lambda a, b: 1 / np.sqrt(a + b), FLOATS),
}
#: For operators that are not for all numbers; others get numbers around 0, whole ones also the ends of their range.
SMALL = {"ASIN", "EXPONENT", "EXPONENT_MINUS_ONE", "EXPONENT2", "TAN", "POWER"}


@pytest.fixture
def operators(cpp_libraries: dict[str, Path]) -> Run:
    return lambda *arguments, **keywords: run(cpp_libraries["operators"], *arguments, **keywords)


def sample(dtype: str, seed: int, name: str = "") -> np.ndarray:
    generator = np.random.default_rng(seed)
    if dtype == "bool":
        return generator.random(90) < 0.5
    if dtype in FLOATS:
        x = generator.normal(0, 0.4 if name in SMALL else 3, 90)
        special_values = [0.0, 0.5, -0.5, 1.5, 2.5] if name in SMALL else [0.0, 0.5, -1.5, np.inf, -np.inf, np.nan]
        x[: len(special_values)] = special_values
        return x.astype(dtype)
    ends = np.iinfo(dtype)
    x = generator.integers(max(ends.min, -20), 20, 90).astype(dtype)
    x[:6] = [ends.max, ends.min, 0, 1, ends.max, ends.min]
    return generator.permutation(x)


def compare(found: np.ndarray, function: Callable[..., Any], *arrays: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        if arrays[0].dtype.kind != "f":
            expected = np.asarray(function(*arrays)).astype(found.dtype)
        else:
            expected = np.asarray(function(*(each.astype("float64") for each in arrays)))
            expected = expected.astype(arrays[0].dtype) if expected.dtype.kind == "f" else expected
    if found.dtype.kind == "f":
        # The float32 functions of the C library are right to some units of the last place.
        np.testing.assert_allclose(found, expected, rtol=2e-6 if found.dtype == "float32" else 2e-3, atol=1e-6)
    else:
        np.testing.assert_array_equal(found, expected)


def test_operators_are_those_of_the_header() -> None:
    assert list(enumerators("UNARY")) == list(UNARY) and list(enumerators("BINARY")) == list(BINARY)


@pytest.mark.parametrize("name", UNARY)
def test_unary_operators(operators: Run, name: str) -> None:
    function, dtypes = UNARY[name]
    number = enumerators("UNARY")[name]
    for dtype in dtypes:
        x = sample(dtype, 1, name)
        compare(operators("Unary", x, number=number), function, x)
    for dtype in () if dtypes else FLOATS:
        x = sample(dtype, 1)
        compare(operators("UnaryTest", x, number=number, result=bool), function, x)


@pytest.mark.parametrize("name", BINARY)
def test_binary_operators(operators: Run, name: str) -> None:
    function, dtypes = BINARY[name]
    op, result = ("Binary", None) if dtypes else ("Compare", bool)
    for dtype in dtypes or (*NUMBERS, "bool"):
        a, b = sample(dtype, 1, name), sample(dtype, 2, name)
        if name == "POWER":
            a = np.abs(a)
        compare(operators(op, a, b, number=enumerators("BINARY")[name], result=result), function, a, b)


def test_ternary_operators(operators: Run) -> None:
    numbers = enumerators("TERNARY")
    for dtype in NUMBERS:
        x, low, high = sample(dtype, 1), np.asarray(2, dtype), np.asarray(9, dtype)
        compare(operators("Clamp", x, low, high, number=numbers["CLAMP"]), np.clip, x, low, high)
    for dtype in FLOATS:
        a, b, which = sample(dtype, 1), sample(dtype, 2), sample("bool", 3)
        found = operators("Select", a, b, which, number=numbers["SELECT"])
        np.testing.assert_array_equal(found, np.where(which, a, b))


@pytest.mark.parametrize(
    "shapes", [((4, 5), (5,)), ((3, 1, 5), (2, 1)), ((1,), (7,)), ((), (2, 3)), ((2, 0), (1,)), ((600, 3), (600, 1))]
)
def test_shapes_are_broadcast(operators: Run, shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b = (np.random.default_rng(i).normal(size=shape).astype("float32") for i, shape in enumerate(shapes))
    for name, function in (("ADD", np.add), ("SUBTRACT", np.subtract)):
        found = operators("Binary", a, b, number=enumerators("BINARY")[name])
        np.testing.assert_array_equal(found, function(a, b))


def test_large_arrays(operators: Run) -> None:
    for dtype in FLOATS:
        x = np.random.default_rng(0).normal(size=(301, 1003)).astype(dtype)
        np.testing.assert_allclose(
            operators("InPlace", x), 2 * x + 1, rtol=2e-3 if dtype == "float16" else 1e-6, atol=1e-3
        )


@pytest.mark.parametrize("dtype", FLOATS)
def test_all_halves_are_converted_as_numpy_does(operators: Run, dtype: str) -> None:
    # Between two neighbours, at the middle and beside it.
    halves = np.arange(0x10000, dtype="uint16").view("float16")
    x = halves.astype("float32")
    if dtype == "float32":
        with np.errstate(all="ignore"):
            x = np.concatenate([x, x * np.float32(1 + 2**-12), np.nextafter(x, np.float32(1)), [65519, 65520, 1e9]])
            x = x.astype("float32")
            expected = x.astype("float16")
        np.testing.assert_array_equal(operators("CastToHalf", x, number=1, result="float16"), expected)
        return
    np.testing.assert_array_equal(operators("CastToFloat", halves, number=0, result="float32"), x)


CASTS = {
    "CastToFloat": "float32",
    "CastToHalf": "float16",
    "CastToInt": "int32",
    "CastToByte": "uint8",
    "CastToBool": "bool",
}


@pytest.mark.parametrize("op", CASTS)
def test_casts(operators: Run, op: str) -> None:
    for dtype in (*NUMBERS, "bool"):
        x = np.array([0, 1, 2, 100]).astype(dtype)
        number = list(CASTS).index(op)
        np.testing.assert_array_equal(operators(op, x, number=number, result=CASTS[op]), x.astype(CASTS[op]))


def test_numbers_that_do_not_fit_become_the_nearest(operators: Run) -> None:
    x = np.float32([1.9, -1.9, 1e20, -1e20, np.inf, np.nan])
    found = operators("CastToInt", x, number=2, result="int32")
    assert found.tolist() == [1, -1, 2**31 - 1, -(2**31), 2**31 - 1, 0]
    assert operators("CastToByte", x, number=3, result="uint8").tolist() == [1, 0, 255, 0, 255, 0]


FORMULAS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "polynomial": lambda x: 1 + x * (2 - x / 4),
    "constants alone take the type": lambda x: np.where(x < 0, 3, 1.5) * x,
    "nothing but constants": lambda x: np.full_like(x, 1.5),
    "truths": lambda x: ((x > 0) & (x < 2)) | np.isnan(x) | ~(x >= -2),
    "a whole number on the way": lambda x: np.fmod(np.trunc(x), 3),
    "rounded to a half": lambda x: x.astype("float16"),
    "shared": lambda x: x * 0.5,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(operators: Run, name: str) -> None:
    for dtype in FLOATS:
        x = np.linspace(-5, 5, 77).astype(dtype)
        expected = FORMULAS[name](x.astype("float64")).astype(dtype)
        found = operators("Formula", x, case=name)
        np.testing.assert_allclose(found, expected, rtol=1e-3 if dtype == "float16" else 1e-6, atol=1e-6)


def changed(x: np.ndarray, *places: Any) -> np.ndarray:
    x = x.copy()
    for place in places:
        x[place] += 1
    return x


VIEWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "transpose": lambda x: 2 * x,
    "reshape": lambda x: 2 * x.T.reshape(6, 4).T,
    "concat": lambda x: 2 * x,
    "concat columns": lambda x: 2 * x,
    "rows by number": lambda x: 2 * x,
    "outputs that are views": lambda x: 2 * x,
    "sums of neighbours": lambda x: np.concatenate([x[:, :1], x[:, 1:] + x[:, :-1]], axis=1),
    "a part in place": lambda x: changed(x, np.s_[1:3, 2:5]),
    "a part of the input in place": lambda x: changed(x, np.s_[:, ::2]),
    "parts that are put together in place": lambda x: changed(x, 0, 3),
    "the input itself": lambda x: x,
    "a constant": lambda x: np.full_like(x, 3),
    "constants": lambda x: x + np.arange(6).astype(x.dtype),
    "fill and zero": lambda x: np.repeat(np.array([7, 0], x.dtype), 12).reshape(4, 6),
    "broadcast": lambda x: x - x[1],
    "repeated": lambda x: x - x[:1],
    "steps of a sequence": lambda x: (x * x - 1) * x,
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(operators: Run, name: str) -> None:
    for dtype in ("float32", "float16", "int64", "uint8"):
        x = np.arange(24).astype(dtype).reshape(4, 6) % 11
        np.testing.assert_array_equal(operators("View", x, case=name), VIEWS[name](x))
