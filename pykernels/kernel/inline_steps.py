"""What the functions of float32 that are written out in vector instructions have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import llvmlite.ir as ir
import numpy as np

if TYPE_CHECKING:
    from pykernels.kernel.vector_writer import Writer

__all__ = ["bits", "constant", "fma", "greatest", "integer", "least", "polynomial"]

_I32 = ir.IntType(32)


def polynomial(w: Writer, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """A polynomial whose coefficients are given from the highest power to the lowest."""
    total: ir.Value = constant(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = fma(w, total, x, constant(x, coefficient))
    return total


def fma(w: Writer, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    """``a * b + c``, rounded once."""
    return w.intrinsic("fma", a, b, c)


def least(w: Writer, a: ir.Value, b: ir.Value) -> ir.Value:
    """The lesser of two; `b` if either is NaN, as the instruction has it."""
    return w.builder.select(w.builder.fcmp_ordered("<", a, b), a, b)


def greatest(w: Writer, a: ir.Value, b: ir.Value) -> ir.Value:
    """The greater of two; `b` if either is NaN."""
    return w.builder.select(w.builder.fcmp_ordered(">", a, b), a, b)


def constant(like: ir.Value, number: float) -> ir.Constant:
    """A number, rounded to float32, in every lane of a vector like another."""
    return ir.Constant(like.type, float(np.float32(number)))


def integer(like: ir.Value, number: int) -> ir.Constant:
    """A whole number of 32 bits in every lane."""
    return ir.Constant(ir.VectorType(_I32, like.type.count), number)


def bits(w: Writer, x: ir.Value) -> ir.Value:
    """The bits of float32 numbers."""
    return w.builder.bitcast(x, ir.VectorType(_I32, x.type.count))
