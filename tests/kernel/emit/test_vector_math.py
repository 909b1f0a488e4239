"""The functions that elementwise kernels take from C's mathematics: within 4 units in the last place, everywhere."""

from __future__ import annotations

from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
import scipy.special
from compiled import build, kernel_of, run

from pykernels.kernel.build import BuiltKernel
from pykernels.kernel.emit import target, vector_math
from pykernels.kernel.emit.vector_math import InstructionSet

UNARY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "sqrt", "erf", "erfc", "expit"),
)
BINARY = ("power", "arctan2", "hypot")
SCIPY = ("erf", "erfc", "expit")
MOST_ULP = 4


def function_of(name: str) -> np.ufunc:
    found: np.ufunc = getattr(scipy.special if name in SCIPY else np, name)
    return found


def kernel_and_outputs(folder: Path, name: str, inputs: list[np.ndarray]) -> tuple[BuiltKernel, np.ndarray]:
    arguments = ", ".join("xy"[: len(inputs)])
    module = "special" if name in SCIPY else "np"
    text = f"""
        from scipy import special
        def forward(args):
            {arguments}, = args
            return {module}.{name}({arguments})
    """
    out = np.empty_like(inputs[0])
    built = build(kernel_of(folder, text), inputs, [out])
    assert built.facts.form == "elementwise"
    assert run(built, inputs, [out]) is None
    return built, out


def samples(dtype: str, seed: int = 0) -> np.ndarray:
    """Every float16; special numbers; numbers of every size, and many of the sizes that are met most."""
    generator = np.random.default_rng(seed)
    limits = np.finfo(dtype)
    special = [0.0, np.inf, np.nan, 1.0, limits.max, limits.tiny, limits.tiny / 4, limits.smallest_subnormal, 0.5, 2.0]
    borders = [87.4, 88.72, 88.8, 103.9, 104.1, 708.4, 709.7, 709.8, 745.1, 745.2]
    n = 20_000
    denormal = limits.tiny * generator.uniform(-1, 1, n)
    bits = generator.integers(0, 1 << 8 * limits.dtype.itemsize, 10 * n, f"u{limits.dtype.itemsize}")
    return np.concatenate(
        [
            np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(dtype),
            np.array(special + borders + [-number for number in special + borders], dtype),
            denormal.astype(dtype),
            bits.view(dtype),
            *(generator.uniform(-size, size, n).astype(dtype) for size in (1e-3, 1, 20, 110, 750)),
        ]
    )


def exact(name: str, inputs: list[np.ndarray]) -> np.ndarray:
    """The result in a wider dtype."""
    if inputs[0].dtype == np.float32 or name in ("erf", "erfc"):
        # No wider dtype than float64 has these; what SciPy gives there is compared where it is exact itself.
        result: np.ndarray = function_of(name)(*(x.astype(np.float64) for x in inputs))
        return result
    wide = [x.astype(np.longdouble) for x in inputs]
    if name == "expit":
        return np.where(wide[0] < 0, np.exp(wide[0]) / (1 + np.exp(wide[0])), 1 / (1 + np.exp(-wide[0])))
    result = function_of(name)(*wide)
    return result


def check(out: np.ndarray, expected: np.ndarray, most: float = MOST_ULP) -> None:
    rounded = expected.astype(out.dtype)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(rounded))
    known = ~np.isnan(rounded)
    infinite = known & (np.isinf(rounded) | np.isinf(out))
    np.testing.assert_array_equal(out[infinite], rounded[infinite])
    zero = (rounded == 0) & (out == 0)
    np.testing.assert_array_equal(np.signbit(out[zero]), np.signbit(rounded[zero]))
    finite = known & ~infinite
    unit = np.spacing(np.maximum(np.abs(rounded[finite]), np.finfo(out.dtype).tiny)).astype(expected.dtype)
    errors = np.abs(out[finite] - expected[finite]) / unit
    assert errors.max() <= most


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_accuracy(tmp_path: Path, dtype: str, name: str) -> None:
    x = samples(dtype)
    if name == "erfc" and dtype == "float64":
        x = x[~(x > 0.5)]  # beyond, SciPy's own error is of this size
    with np.errstate(all="ignore"):
        _, out = kernel_and_outputs(tmp_path, name, [x])
        check(out, exact(name, [x]))
        zeros = np.array([0.0, -0.0], dtype)
        plain = function_of(name)(zeros)
    np.testing.assert_array_equal(np.signbit(kernel_and_outputs(tmp_path, name, [zeros])[1]), np.signbit(plain))


@pytest.mark.thorough
@pytest.mark.parametrize("name", UNARY)
def test_accuracy_all_over_float32(tmp_path: Path, name: str) -> None:
    """A sample of all bit patterns, and every number next to where pieces of the functions meet."""
    borders = np.arange(-(1 << 9), 1 << 9, dtype=np.float32) / np.float32(64)
    steps = np.arange(-300, 301, dtype=np.int32)
    x = np.concatenate(
        [
            np.arange(0, 1 << 32, 4099, dtype=np.uint64).astype(np.uint32).view(np.float32),
            (borders.view(np.int32)[:, None] + steps).ravel().view(np.float32),
        ]
    )
    with np.errstate(all="ignore"):
        _, out = kernel_and_outputs(tmp_path, name, [x])
        check(out, exact(name, [x]))


SOFTPLUS = "def forward(args):\n    return np.log1p(np.exp(-np.abs(args[0])))\n"


def check_softplus(folder: Path) -> None:
    """``exp(-abs(x))`` is between 0 and 1; its logarithm takes a shorter way, and must still be right at both ends."""
    x = np.concatenate([samples("float32"), np.linspace(-110, 110, 100_001, dtype=np.float32)])
    out = np.empty_like(x)
    built = build(kernel_of(folder, SOFTPLUS), [x], [out])
    assert run(built, [x], [out]) is None
    with np.errstate(all="ignore"):
        # The first function's error, of 2 units, is passed on whole, to results whose unit may be half as large.
        check(out, np.log1p(np.exp(-np.abs(x.astype(np.float64)))), most=2 + 2 * 2)
        assert out[x == 0].tolist() == [np.float32(np.log(2))] * int(np.count_nonzero(x == 0))


def test_log1p_of_what_is_known_to_be_a_fraction(tmp_path: Path) -> None:
    check_softplus(tmp_path)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_accuracy_of_two_arguments(tmp_path: Path, dtype: str, name: str) -> None:
    x, y = samples(dtype), np.random.default_rng(2).permutation(samples(dtype, 1))
    # What a signalling NaN gives is nobody's business.
    x, y = x[~(np.isnan(x) ^ np.isnan(y))], y[~(np.isnan(x) ^ np.isnan(y))]
    with np.errstate(all="ignore"):
        check(kernel_and_outputs(tmp_path, name, [x, y])[1], exact(name, [x, y]))


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*(name for name in UNARY if name not in SCIPY), *BINARY])
def test_float16_is_rounded_once(tmp_path: Path, name: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    inputs = [x] if name in UNARY else [x, x[::-1].copy()]
    with np.errstate(all="ignore"):
        _, out = kernel_and_outputs(tmp_path, name, inputs)
        # A hair more than half a unit, for what float32 had rounded before.
        check(out, function_of(name)(*(each.astype(np.float32) for each in inputs)), most=0.502)


def test_facts_say_which_functions_have_a_vector_twin(tmp_path: Path) -> None:
    x = np.linspace(0.1, 1, 50, dtype=np.float32)
    built, _ = kernel_and_outputs(tmp_path, "exp", [x])
    assert (built.facts.vector_math or built.facts.scalar_math) == ("expf",)
    assert built.facts.vectorised == (built.facts.scalar_math == ())
    built, _ = kernel_and_outputs(tmp_path, "fmod", [x, x])
    assert (built.facts.vector_math, built.facts.scalar_math) == ((), ("fmodf",))
    assert not built.facts.vectorised


INSTRUCTION_SETS = [
    InstructionSet("avx2", 32, {32: "d", 16: "b"}, has_fma=True),
    InstructionSet("sse4.2", 16, {16: "b"}, has_fma=False),
    InstructionSet("baseline", 16, {}, has_fma=True),
]


@pytest.mark.thorough
@pytest.mark.usefixtures("new_cache")
@pytest.mark.parametrize("instructions", INSTRUCTION_SETS, ids=lambda each: each.name)
def test_other_instruction_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instructions: InstructionSet) -> None:
    if not llvm.get_host_cpu_features().get("avx2"):
        pytest.skip("a processor with AVX2 can stand in for older ones")
    monkeypatch.setattr(target, "instruction_set", lambda: instructions)
    x = samples("float32")
    with np.errstate(all="ignore"):
        for name in ("exp", "log", "log1p", "tanh", "erf", "sin"):
            built, out = kernel_and_outputs(tmp_path, name, [x])
            check(out, exact(name, [x]))
            is_inline = instructions.has_fma and name != "sin"
            assert built.facts.instruction_set == instructions.name
            assert built.facts.vectorised == (is_inline or bool(built.facts.vector_math))
    check_softplus(tmp_path)


@pytest.mark.parametrize("name", ["sin", "cbrt", "exp"])
def test_without_a_vector_math_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    x = samples("float32")
    monkeypatch.setattr(vector_math, "_library", lambda: None)
    monkeypatch.setattr(vector_math, "path", None)
    assert vector_math.identity() == "no vector math library"
    with np.errstate(all="ignore"):
        built, out = kernel_and_outputs(tmp_path, name, [x])
        check(out, exact(name, [x]))
    if name == "exp" and target.instruction_set().has_fma:
        assert built.facts.vectorised  # written out
    else:
        assert (built.facts.vector_math, built.facts.scalar_math) == ((), (f"{name}f",))


def test_without_some_of_its_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older C library has vector twins of sin, but not of cbrt."""
    find = vector_math.find

    def find_in_older(function: str, *arguments: object) -> str | None:
        return None if function == "cbrtf" else find(function, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(vector_math, "find", find_in_older)
    monkeypatch.setattr(vector_math, "identity", lambda: "an older one")
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    out = np.empty_like(x)
    kernel = kernel_of(tmp_path, "def forward(args):\n    return np.cbrt(args[0]) + np.sin(args[0])\n")
    built = build(kernel, [x], [out])
    assert run(built, [x], [out]) is None
    assert built.facts.scalar_math in (("cbrtf",), ("cbrtf", "sinf"))
    np.testing.assert_allclose(out, np.cbrt(x) + np.sin(x), rtol=1e-5)
