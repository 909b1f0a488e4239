"""Kernels written by chance give what their plain NumPy run gives, to the last bit.

They use what NumPy rounds in one way only, so no tolerance hides anything; dtypes, shapes and special values are mixed
as no one would write them.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import build, kernel_of, run
from quick import thorough

DTYPES = ("float32", "float64", "int8", "uint8", "int16", "uint32", "int32", "int64", "bool")
REALS = ("0.5", "2.0", "-1.5", "3", "0", "-0.0", "True", "np.inf", "float('nan')", "1e30", "math.pi", "np.float32(0.3)")
INTEGERS = ("0", "1", "2", "7", "-1", "True", "100", "300")
ATTRIBUTES = ({}, {"a": 1.5}, {"a": -0.0, "k": 3}, {"k": -7, "t": True}, {"t": False, "a": float("nan")})
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -2.5, 1e7)
OF_REALS = ("floor", "ceil", "trunc", "rint", "sign", "square", "abs", "negative", "reciprocal", "sqrt")
OF_TWO_REALS = ("maximum", "minimum", "fmax", "fmin", "copysign", "heaviside", "fmod")


class Author:
    """Writes expressions of a kind: ``f`` for floating-point numbers, ``i`` for integers, ``b`` for truth values."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers: dict[str, Any] = dict(self.random.choice(ATTRIBUTES))
        self.dtypes = [self.random.choice(DTYPES) for _ in range(self.random.choice((1, 2, 2, 3)))]
        self.names = {"f": [], "i": [], "b": []}  # type: dict[str, list[str]]
        for at, dtype in enumerate(self.dtypes):
            self.names[np.dtype(dtype).kind.replace("u", "i")].append(f"x{at}")

    def write(self) -> str:
        """The text of a kernel of three outputs."""
        lines = [f"{''.join(f'x{at}, ' for at in range(len(self.dtypes)))}= args"]
        for at in range(self.random.randrange(3)):
            kind = self.random.choice("fib")
            lines.append(f"t{at} = {self.array(kind, 2)}")
            if kind != "b" and self.random.random() < 0.5:
                lines += [f"t{at} = t{at} * 1", f"t{at} {self.random.choice('+-*')}= t{at}"]
            self.names[kind].append(f"t{at}")
        results = ", ".join(self.array(kind, 3) for kind in "fib")
        keywords = f", *, {', '.join(self.numbers)}" if self.numbers else ""
        body = "\n    ".join([*lines, f"return {results}"])
        return f"def forward(args{keywords}):\n    {body}\n"

    def array(self, kind: str, depth: int) -> str:
        """An expression that an input is part of."""
        while True:
            text = self.any(kind, depth)
            if "x" in text.replace("max", "").replace("exp", "").replace("np.fmax", ""):
                return text

    def any(self, kind: str, depth: int) -> str:
        if depth == 0:
            return self.leaf(kind)
        return {"f": self.real, "i": self.integer, "b": self.truth}[kind](depth - 1)

    def leaf(self, kind: str) -> str:
        names, pick = self.names[kind], self.random.choice
        if names and self.random.random() < 0.8:
            return pick(names)
        if self.random.random() < 0.4:
            numbers = {"f": (*REALS, *(self.numbers.keys() & {"a", "k"})), "i": INTEGERS, "b": ("True", "False")}
            return pick(sorted(numbers[kind]))
        other = pick([name for names in self.names.values() for name in names])
        cast = f"np.fmax(np.fmin({other}, 100), -100).astype(np.int32)"
        return {"f": f"({other} * 1.0)", "i": cast, "b": f"({other} > 1)"}[kind]

    def real(self, depth: int) -> str:
        pick, write = self.random.choice, self.any
        a, b = write("f", depth), write(pick("ffib"), depth)
        return pick(
            (
                *(f"({a} {pick('+-*/')} {b})", f"({a} {pick('+-*')} {b})", f"np.{pick(OF_REALS)}({a})"),
                *(f"np.where({write('b', depth)}, {a}, {b})", f"np.{pick(OF_TWO_REALS)}({a}, {write('f', depth)})"),
                *(f"np.clip({a}, -2.5, 1)", f"({b}).astype(np.{pick(('float32', 'float64'))})"),
                *(f"np.max({self.array('f', depth)}, axis=None)", f"({a} ** 2)"),
            )
        )

    def integer(self, depth: int) -> str:
        pick, write = self.random.choice, self.any
        a, b = write("i", depth), write("i", depth)
        return pick(
            (
                *(f"({a} {pick(('+', '-', '*', '//', '%', '&', '|', '^'))} {b})", f"({a} {pick('+-*')} {b})"),
                *(f"np.where({write('b', depth)}, {a}, {b})", f"np.{pick(('maximum', 'minimum', 'fmod'))}({a}, {b})"),
                *(f"({self.array('i', depth)}).astype(np.{pick(DTYPES[2:-1])})", f"({pick('-~+')}{a})"),
                f"({a} >> 3)",
            )
        )

    def truth(self, depth: int) -> str:
        pick, write = self.random.choice, self.any
        kind = pick("fi")
        a, b = write(kind, depth), write(kind, depth)
        return pick(
            (
                *(f"({a} {pick(('<', '<=', '>', '>=', '==', '!='))} {b})" for _ in range(3)),
                *(f"({write('b', depth)} {pick('&|^')} {write('b', depth)})", f"np.isnan({write('f', depth)})"),
                *(f"np.logical_{pick(('and', 'or', 'xor'))}({a}, {b})", f"np.signbit({write('f', depth)})"),
            )
        )

    def inputs(self) -> list[np.ndarray]:
        """Arrays whose shapes broadcast."""
        generator = np.random.default_rng(self.random.randrange(1 << 32))
        rank = self.random.choice((0, 1, 1, 2, 2, 3, 5))
        whole = [self.random.choice((0, 1, 2, 3, 5, 17) if rank > 1 else (0, 1, 7, 33, 1000)) for _ in range(rank)]
        arrays = []
        for dtype in map(np.dtype, self.dtypes):
            shape = [1 if self.random.random() < 0.15 else n for n in whole][self.random.choice((0, 0, 0, rank // 2)) :]
            if dtype.kind == "f":
                values = np.where(
                    generator.random(shape) < 0.3, generator.choice(SPECIAL, shape), generator.normal(0, 9, shape)
                )
            else:
                limits = np.iinfo(dtype if dtype.kind != "b" else np.int8)
                ends = np.array([limits.min, limits.max, 0, 1], limits.dtype)
                small = generator.integers(max(limits.min, -9), 9, shape).astype(limits.dtype)
                values = np.where(generator.random(shape) < 0.2, generator.choice(ends, shape), small)
            arrays.append(np.ascontiguousarray(values.astype(dtype)).reshape(shape))
        return arrays


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("seed", [*range(5), *thorough(*range(5, 20))])
def test_random_kernels(tmp_path: Path, seed: int) -> None:
    author = Author(seed)
    kernel = kernel_of(tmp_path, author.write())
    numbers = author.numbers
    for _ in range(3):
        inputs = author.inputs()
        try:
            with np.errstate(all="ignore"):
                results = kernel.function(tuple(inputs), **numbers)
        except Exception:
            continue  # what a kernel raises is told by other tests
        if any(result.ndim == 0 for result in results) and np.lib.NumpyVersion(np.__version__) < "2.0.0":
            continue  # arrays without axes take the dtype of numbers there
        outputs = [np.empty(result.shape, result.dtype) for result in results]
        assert run(build(kernel, inputs, outputs, numbers), inputs, outputs, numbers) is None
        for output, result in zip(outputs, results):
            np.testing.assert_array_equal(output, result)
            if output.dtype.kind == "f":
                is_number = ~np.isnan(result)
                np.testing.assert_array_equal(np.signbit(output[is_number]), np.signbit(result[is_number]))
