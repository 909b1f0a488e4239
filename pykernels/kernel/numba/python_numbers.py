"""Operations on Python's numbers, which raise where Python does."""

from __future__ import annotations

import math
import operator
from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic

from pykernels.kernel.numba.numpy_numbers import compute, python_function

__all__ = ["apply_python", "check_fits"]

_DIVISIONS = (operator.truediv, operator.floordiv, operator.mod, divmod)
_POWERS = (operator.pow, pow)
_SHIFTS = (operator.lshift, operator.rshift)


@intrinsic
def apply_python(typing_context: Any, function: nb.Type, *operands: nb.Type) -> Any:
    """``function(*operands)`` of Python's numbers.

    Raises the exception that Python raises for a division by zero, a negative shift, a whole number to a negative
    power, `int` of what is no number, and a function of `math` whose result is not finite; their texts come from the
    plain run.
    """
    found = typing_context.resolve_function_type(function, operands, {})
    called = python_function(function)
    is_whole = all(isinstance(operand, (nb.Integer, nb.Boolean)) for operand in operands)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def refuse_if(is_wrong: Any, kind: type[Exception]) -> None:
            with cgutils.if_unlikely(builder, is_wrong):
                context.call_conv.return_user_exc(builder, kind, ())

        values = cgutils.unpack_tuple(builder, arguments[1])
        last, last_type = values[-1], operands[-1]
        if called in _DIVISIONS:
            refuse_if(builder.not_(context.cast(builder, last, last_type, nb.boolean)), ZeroDivisionError)
        elif is_whole and (called in _SHIFTS or called in _POWERS):
            exponent = context.cast(builder, last, last_type, nb.int64)
            refuse_if(builder.icmp_signed("<", exponent, exponent.type(0)), ValueError)
        elif isinstance(last_type, nb.Float) and isinstance(found.return_type, nb.Integer):
            # A whole number has 64 bits; NaN is not less than that, either.
            size = builder.call(builder.module.declare_intrinsic("llvm.fabs", [last.type]), [last])
            refuse_if(builder.not_(builder.fcmp_ordered("<", size, ir.Constant(last.type, 2.0**63))), ValueError)
        result = compute(context, builder, function, found, found.return_type, values, operands)
        if isinstance(found.return_type, nb.Float) and called not in _DIVISIONS:
            given = [context.cast(builder, *each, nb.float64) for each in zip(values, operands)]
            made = context.cast(builder, result, found.return_type, nb.float64)
            refuse_if(_is_irregular(builder, made, given), ValueError)
        if called is operator.lshift and is_whole:
            # A shift by 64 bits or more has no value in LLVM; one by 63 leaves what those leave.
            bits = context.cast(builder, last, last_type, found.return_type)
            most = bits.type(63)
            back = builder.ashr(result, builder.select(builder.icmp_unsigned("<", bits, most), bits, most))
            first = context.cast(builder, values[0], operands[0], found.return_type)
            refuse_if(builder.icmp_signed("!=", back, first), OverflowError)
        return result

    return (found and found.return_type(function, nb.Tuple(operands))), generate


def check_fits(context: Any, builder: Any, number: Any, type_: nb.Integer, dtype: nb.Integer) -> None:
    """Raise `OverflowError` unless `dtype` holds an integer of Python's."""
    wide = context.cast(builder, number, type_, nb.int64)
    limits = np.iinfo(np.int64)
    outside = cgutils.false_bit
    if dtype.minval > limits.min:
        outside = builder.icmp_signed("<", wide, ir.Constant(wide.type, dtype.minval))
    if dtype.maxval < limits.max:
        outside = builder.or_(outside, builder.icmp_signed(">", wide, ir.Constant(wide.type, dtype.maxval)))
    with cgutils.if_unlikely(builder, outside):
        context.call_conv.return_user_exc(builder, OverflowError, ())


def _is_irregular(builder: Any, value: Any, operands: list[Any]) -> Any:
    """Whether a result is NaN or infinite, and does not follow from operands that are."""

    def is_finite(number: Any) -> Any:
        fabs = builder.module.declare_intrinsic("llvm.fabs", [number.type])
        return builder.fcmp_ordered("<", builder.call(fabs, [number]), ir.Constant(number.type, math.inf))

    def is_nan(number: Any) -> Any:
        return builder.fcmp_unordered("uno", number, number)

    some_nan, all_finite = is_nan(operands[0]), is_finite(operands[0])
    for each in operands[1:]:
        some_nan = builder.or_(some_nan, is_nan(each))
        all_finite = builder.and_(all_finite, is_finite(each))
    follows = builder.select(is_nan(value), some_nan, builder.not_(all_finite))
    return builder.not_(builder.or_(is_finite(value), follows))
