"""Options of universal functions on elements: ``where``, ``dtype``, and ``out`` beside these (see `preparing`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb
from numba.core import errors
from numba.np.numpy_support import as_dtype

from pykernels.kernel.expression.call_arguments import is_same_kind
from pykernels.kernel.numba.implementing import compiled, implements, is_array


def put(value: Any, out: Any, where: Any) -> Any:
    """Write a value to the array `out`, where a mask is true, and return the array."""


def in_dtype(function: Any, dtype: Any, *operands: Any) -> Any:
    """Return what a universal function gives for operands in a dtype."""


@implements(put)
def _put(value: Any, out: Any, where: Any) -> Any:
    if out is not None:

        def written(value: Any, out: Any, where: Any) -> Any:
            np.copyto(out, value, where=where)
            return out

        return written
    if where is True:
        return lambda value: value
    if not is_array(where) or not isinstance(where.dtype, nb.Boolean):
        raise errors.TypingError("`where` is no array of truth values")
    is_value_array = isinstance(value, nb.Array)
    dtype = as_dtype(value.dtype if is_value_array else value)

    def masked(value: Any, where: Any) -> Any:
        # Elsewhere, a new array has any values.
        made = np.zeros(np.broadcast_shapes(value.shape if is_value_array else (), where.shape), dtype)
        np.copyto(made, value, where=where)
        return made

    return masked


@implements(in_dtype)
def _in_dtype(function: Any, dtype: Any, *operands: Any) -> Any:
    ufunc = getattr(function, "typing_key", None)
    if not isinstance(ufunc, np.ufunc) or not isinstance(dtype, np.dtype):
        raise errors.TypingError("`dtype` is not known while compiling")
    if f"{dtype.char * ufunc.nin}->{dtype.char}" not in ufunc.types:
        raise errors.TypingError(f"np.{ufunc.__name__} does not compute in {dtype}")
    converters = {f"convert{at}": _converter(each, dtype) for at, each in enumerate(operands)}
    converted = (f"convert{at}(operands[{at}])" for at in range(len(operands)))
    namespace: dict[str, Any] = {"ufunc": ufunc, **converters}
    exec(f"def call(operands):\n    return ufunc({', '.join(converted)})", namespace)
    return namespace["call"]


def _converter(operand: Any, dtype: np.dtype) -> Any:
    """Return a function that gives an operand in a dtype of the same kind."""
    if not isinstance(operand, nb.Type):
        given, fits = np.min_scalar_type(operand), is_same_kind(operand, dtype)
    else:
        given = as_dtype(getattr(operand, "dtype", operand))
        fits = np.can_cast(given, dtype, "same_kind")
    if not fits:
        raise errors.TypingError(f"NumPy does not convert {given} to {dtype} here")
    number = dtype.type
    if not isinstance(operand, nb.Array):
        return compiled(lambda operand: number(operand))
    return compiled((lambda operand: operand) if given == dtype else lambda operand: operand.astype(number))
