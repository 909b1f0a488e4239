"""Emit the steps of reductions: the initial value, one step, and the reduction of a vector's lanes."""

from __future__ import annotations

import math

import llvmlite.ir as ir
import numpy as np

from pykernels.kernel.emit.vector_operations import EMITTERS
from pykernels.kernel.emit.vector_writer import Writer

_I32 = ir.IntType(32)


def combine(w: Writer, name: str, dtype: np.dtype, folded: ir.Value, value: ir.Value) -> ir.Value:
    """Emit one step on numbers or vectors; NaN propagates."""
    return EMITTERS[name](w, dtype, value, folded)


def across(w: Writer, name: str, dtype: np.dtype, vector: ir.Value) -> ir.Value:
    """Reduce the lanes of a vector by combining its halves."""
    if name in ("maximum", "minimum") and dtype.kind == "f":
        # Check for NaN once, not at each step.
        lanes = vector.type.count
        is_nan = w.builder.bitcast(w.builder.fcmp_unordered("uno", vector, vector), ir.IntType(lanes))
        known = across(w, "fmax" if name == "maximum" else "fmin", dtype, vector)
        some = w.builder.icmp_unsigned("!=", is_nan, ir.Constant(is_nan.type, 0))
        return w.builder.select(some, ir.Constant(known.type, math.nan), known)
    while vector.type.count > 1:
        half = vector.type.count // 2
        undefined = ir.Constant(vector.type, ir.Undefined)
        low, high = (
            w.builder.shuffle_vector(
                vector, undefined, ir.Constant(ir.VectorType(_I32, half), [_I32(at + k) for k in range(half)])
            )
            for at in (0, half)
        )
        if name in ("fmax", "fmin"):
            is_first = w.builder.fcmp_ordered(">" if name == "fmax" else "<", low, high)
            vector = w.builder.select(is_first, low, high)
        else:
            vector = combine(w, name, dtype, low, high)
    return w.builder.extract_element(vector, _I32(0))
