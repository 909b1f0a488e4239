"""Functions that compiled kernels call: user helpers, weak Python numbers, copies of arrays that may overlap."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numba import types as nb
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, overload

from pykernels.kernel.expression import promotion
from pykernels.kernel.expression.operations import COMPARISONS
from pykernels.kernel.numba import hooks
from pykernels.kernel.numba.functions import repeating, universal
from pykernels.kernel.numba.rewriting import bounds, constants, iterations, preparing, respelling
from pykernels.kernel.numba.semantics import unbound
from pykernels.kernel.numba.semantics.numpy_numbers import apply_numpy, compute, python_function, resolve
from pykernels.kernel.numba.semantics.python_numbers import apply_python, convert_number
from pykernels.kernel.numba.target import compile_function

#: Divisions follow NumPy, and an index past the end raises, as it does in Python.
OPTIONS = {"error_model": "numpy", "boundscheck": True}

# Loading these hooks registers their overloads with numba.
for _name in ("arrays.assignments", "functions", "arrays.reshaping"):
    hooks.load(_name)

_part = compile_function(error_model="numpy", boundscheck=False)(iterations.part)


@functools.cache
def make_callable(helper: Any) -> None:
    """Let compiled code call a user's plain function."""
    compiled = functools.cache(lambda: rewritten(helper, ()))

    @overload(helper, jit_options=OPTIONS, strict=False)
    def typed(*args: Any, **kwargs: Any) -> Any:
        return compiled()


def rewritten(
    function: Any,
    numbers: Sequence[str],
    values: Mapping[str, Any] = {},
    called: Mapping[str, Any] = {},
    *,
    in_pieces: bool = False,
) -> Any:
    """Return a user's function rewritten for numba.

    Parameters
    ----------
    numbers : sequence of str
        The parameters that are Python numbers.
    values : mapping
        The values of parameters that are compiled in.
    called : mapping
        Functions that it may call, beside those of its module.
    in_pieces : bool
        Whether the function runs one piece of its `prange`, a further argument (`iterations.PIECE`).
    """

    def prepare(definition: ast.FunctionDef) -> ast.FunctionDef:
        namespace = function.__globals__
        iterations.cut(definition, namespace, in_pieces=in_pieces)
        definition = respelling.respell(preparing.prepare(definition, namespace), namespace)
        return constants.expose(definition, namespace, values)

    names = {**called, iterations.PART: _part, promotion.APART: apart, **constants.DTYPES}
    names |= {respelling.REPLACED[each]: of_tuple for each, of_tuple in repeating.OF_TUPLES.items()}
    names[respelling.MODULE] = np
    names |= {promotion.PYTHON: apply_python, promotion.NUMPY: apply_numpy, promotion.LIKE: like}
    names |= {preparing.PUT: universal.put, preparing.IN_DTYPE: universal.in_dtype}
    write = functools.partial(promotion.rewrite, function, numbers, apply_weak, names=names)
    unchecked = hooks.load("arrays.unchecked")
    if unchecked is None:
        return write(prepare=prepare)
    names |= {bounds.FITS: unchecked.fits, bounds.BEFORE: unchecked.before}
    names |= {bounds.LOAD: unchecked.load, bounds.STORE: unchecked.store}
    uncertain = unbound.uncertain_names(write(prepare=prepare))
    return write(prepare=lambda definition: bounds.hoist_checks(prepare(definition), uncertain))


_COMPARISONS = {each for row in COMPARISONS.values() for each in (row.function, getattr(np, row.name))}


@intrinsic(prefer_literal=True)
def apply_weak(typing_context: Any, function: nb.Type, mask: nb.Type, like: nb.Type, *operands: nb.Type) -> Any:
    """Emit ``function(*operands)``; `mask` marks the Python numbers, which take the dtype of `like`."""
    if not isinstance(like, nb.Literal):
        return None  # numba tries again like that after an error, which it then reports
    other = operands[like.literal_value]
    dtype = other.dtype if isinstance(other, nb.Array) else nb.unliteral(other)
    called = python_function(function)
    if called in _COMPARISONS and isinstance(dtype, nb.Integer):
        # Compute in a dtype that can represent both.
        types = tuple(map(nb.unliteral, operands))
    else:
        types = tuple(
            _weak_type(dtype, operand) if mask.literal_value >> at & 1 else operand
            for at, operand in enumerate(operands)
        )
    found, returned = resolve(typing_context, function, types)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = cgutils.unpack_tuple(builder, arguments[3])
        # Convert to the weak type first, then to the type of the function's parameter, which may be wider.
        weak_values = [convert_number(context, builder, *each) for each in zip(values, operands, types)]
        return compute(context, builder, function, found, returned, weak_values, types)

    return (found and returned(function, mask, like, nb.Tuple(operands))), generate


@intrinsic
def like(typing_context: Any, number: nb.Type, array: nb.Type) -> Any:
    """Convert a Python number to the dtype of the array that it changes in place."""
    type_ = _weak_type(array.dtype, number) if isinstance(array, nb.Array) else number

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return convert_number(context, builder, arguments[0], number, type_)

    return type_(number, array), generate


def _weak_type(dtype: nb.Type, number: nb.Type) -> nb.Type:
    """Return the type that a Python number takes next to `dtype`."""
    if isinstance(number, nb.Integer) and isinstance(dtype, (nb.Integer, nb.Float)):
        return dtype
    if isinstance(number, nb.Float) and isinstance(dtype, nb.Float):
        return dtype
    return number


@intrinsic
def apart(typing_context: Any, value: nb.Type, target: nb.Type) -> Any:
    """Return a value, or its copy if it is an array that may share memory with the target.

    Inputs are read-only, so they share no memory with a target.
    """
    is_own = isinstance(target, (nb.Number, nb.Boolean))
    may_overlap = isinstance(value, nb.Array) and value.ndim > 0 and value.mutable and not is_own
    result = value.copy(layout="C") if may_overlap else value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if not may_overlap:
            return impl_ret_borrowed(context, builder, value, arguments[0])
        is_simple = all(isinstance(each, nb.Array) and each.layout == "C" for each in signature.args)
        copy = _copy_of_shared if is_simple else _copy
        taken = 2 if is_simple else 1
        return context.compile_internal(builder, copy, result(*signature.args[:taken]), arguments[:taken])

    return result(value, target), generate


def _copy(value: Any) -> Any:
    return value.copy()


def _copy_of_shared(value: Any, target: Any) -> Any:
    """Return a contiguous array, or its copy if it shares memory with another one."""
    begin, other = value.ctypes.data, target.ctypes.data
    if begin < other + target.nbytes and other < begin + value.nbytes:
        return value.copy()
    return value
