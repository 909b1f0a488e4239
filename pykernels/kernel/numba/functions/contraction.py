"""Sums of products over axes of one or two arrays, of any rank and strides, computed by the runtime."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import llvmlite.ir as ir
import numpy as np
from numba import types as nb
from numba.core import cgutils, errors
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype

from pykernels.kernel.numba.copying import copy, emit_view, parts
from pykernels.kernel.numba.implementing import compiled, is_array

#: A name for each axis of an array.
Labels: TypeAlias = "tuple[Any, ...]"

_I64 = ir.IntType(64)
# The most axes in `contraction::Axes` of the runtime.
_MOST_AXES = 64


def sampled(function: Callable[..., Any], *arguments: Any, **options: Any) -> np.ndarray | None:
    """Return NumPy's result for arrays with axes of length 1 in place of types; None if NumPy refuses them."""
    try:
        made = [_sample(each) if isinstance(each, nb.Type) else each for each in arguments]
        result = np.asarray(function(*made, **options))
    except (TypeError, ValueError, np.linalg.LinAlgError):
        return None
    return result if result.dtype.kind in "biuf" and result.dtype.itemsize <= 8 else None


def _sample(type_: nb.Type) -> Any:
    if not is_array(type_):
        raise TypeError
    return np.ones((1,) * type_.ndim, as_dtype(type_.dtype))


def conversion(type_: nb.Array, dtype: np.dtype, layout: str = "A") -> Any:
    """Return a function that converts arrays of a type to a dtype and layout; those that have it stay as they are."""
    old, scalar = as_dtype(type_.dtype), dtype.type

    @compiled
    def compact(x: Any) -> Any:
        made = np.empty(x.shape, old)
        copy(made, x)
        return made

    if old == dtype:
        return compiled(lambda x: x) if layout == "A" or type_.layout == "C" else compact
    if type_.layout == "C":
        return compiled(lambda x: x.reshape(-1).astype(scalar).reshape(x.shape))
    return compiled(lambda x: compact(x).reshape(-1).astype(scalar).reshape(x.shape))


def fits(out: Any, result: np.ndarray) -> bool:
    """Whether results of a sample's dtype and rank can be copied to `out`."""
    is_writable = isinstance(out, nb.Array) and out.mutable and out.ndim == result.ndim > 0
    return is_writable and bool(as_dtype(out.dtype) == result.dtype)


def finisher(result: np.ndarray) -> Any:
    """Return a function that makes arrays of the sample's rank what NumPy returns: a number if they have no axes."""
    return compiled(lambda made: made) if result.ndim else compiled(lambda made: made[()])


@compiled
def store(out: Any, result: Any) -> Any:
    """Copy a result to an array of its shape, and return that."""
    if result.shape != out.shape:
        raise ValueError("the result has another shape")
    copy(out, result)
    return out


@functools.cache
def contraction(out: Labels, operands: tuple[Labels, ...], dtype: np.dtype, exact: frozenset[Any] = frozenset()) -> Any:
    """Return a function that multiplies one or two arrays and sums the products over the axes that `out` lacks.

    Parameters
    ----------
    out, operands : tuple
        The labels of the axes of the result and of the operands. A label that an operand has twice is that of its
        diagonal.
    dtype : dtype
        The dtype of the operands and of the result.
    exact : frozenset
        The labels of axes that must have the same length in both operands. Others of length 1 are broadcast.
    """
    lengths_of, fill = _lengths(out, operands), _filler(out, operands, exact)

    @compiled
    def contract(*given: Any) -> Any:
        result = np.empty(lengths_of(given), dtype)
        fill(result, given)
        return result

    return contract


def view(out: Labels, labels: Labels) -> Any:
    """Return a function that returns a view of an array: its axes in another order, and diagonals of repeated ones."""

    @intrinsic
    def make(typing_context: Any, array: nb.Array) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            base = context.make_array(array)(context, builder, arguments[0])
            _, lengths, strides = parts(context, builder, array, arguments[0])
            axes = [_diagonal(context, builder, label, labels, lengths, strides) for label in out]
            shape, steps = [length for length, _ in axes], [stride for _, stride in axes]
            return emit_view(context, builder, signature.return_type, base, base.data, shape, steps)

        return nb.Array(array.dtype, len(out), "A", readonly=not array.mutable)(array), generate

    return make


def _diagonal(context: Any, builder: Any, label: Any, labels: Labels, lengths: Any, strides: Any) -> tuple[Any, Any]:
    """Return the length and the stride of an operand's axis; raise where axes of the same label differ in length."""
    first, *others = [axis for axis, each in enumerate(labels) if each == label]
    length, stride = lengths[first], strides[first]
    for axis in others:
        _raise_if_other(context, builder, lengths[axis], length)
        stride = builder.add(stride, strides[axis])
    return length, stride


def _raise_if_other(context: Any, builder: Any, length: Any, other: Any) -> None:
    with cgutils.if_unlikely(builder, builder.icmp_signed("!=", length, other)):
        context.call_conv.return_user_exc(builder, ValueError, ("the lengths of axes differ",))


def _broadcast(builder: Any, lengths: Sequence[Any]) -> Any:
    """Return the common length of axes."""
    first, *others = lengths
    for other in others:
        first = builder.select(builder.icmp_signed("==", first, _I64(1)), other, first)
    return first


def _lengths(out: Labels, operands: tuple[Labels, ...]) -> Any:
    """Return a function that returns the shape of a contraction of a tuple of arrays."""

    @intrinsic
    def make(typing_context: Any, arrays: nb.BaseTuple) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            values = cgutils.unpack_tuple(builder, arguments[0])
            shapes = [parts(context, builder, *each)[1] for each in zip(arrays, values)]
            found = [_broadcast(builder, _occurrences(label, operands, shapes)) for label in out]
            return context.make_tuple(builder, signature.return_type, found)

        return nb.UniTuple(nb.intp, len(out))(arrays), generate

    return make


def _occurrences(label: Any, operands: tuple[Labels, ...], values: Sequence[Sequence[Any]]) -> list[Any]:
    return [value for labels, each in zip(operands, values) for name, value in zip(labels, each) if name == label]


def _filler(out: Labels, operands: tuple[Labels, ...], exact: frozenset[Any]) -> Any:
    """Return a function that computes a contraction of a tuple of arrays into a contiguous array of its shape."""
    names = tuple(dict.fromkeys(itertools.chain(out, *operands)))

    @intrinsic
    def fill(typing_context: Any, result: nb.Array, arrays: nb.BaseTuple) -> Any:
        if len(names) > _MOST_AXES:
            raise errors.TypingError("too many axes")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data, _, strides = parts(context, builder, result, arguments[0])
            values = cgutils.unpack_tuple(builder, arguments[1])
            given = [parts(context, builder, *each) for each in zip(arrays, values)]
            shapes = [shape for _, shape, _ in given]
            lengths = [_broadcast(builder, _occurrences(label, operands, shapes)) for label in names]
            rows = [lengths, *([_I64(0)] * len(names) for _ in range(3))]
            rows[1][: len(out)] = strides
            addresses = [data, *[data.type(None)] * 2]
            for at, (labels, (address, shape, steps)) in enumerate(zip(operands, given)):
                addresses[1 + at] = address
                rows[2 + at] = [
                    _step(
                        context,
                        builder,
                        _diagonal(context, builder, label, labels, shape, steps),
                        length,
                        label in exact,
                    )
                    if label in labels
                    else _I64(0)
                    for label, length in zip(names, lengths)
                ]
            _emit_contraction(context, builder, result, addresses, rows, len(out))
            return context.get_dummy_value()

        return nb.void(result, arrays), generate

    return fill


def _step(context: Any, builder: Any, axis: tuple[Any, Any], length: Any, is_exact: bool) -> Any:
    """Return the stride of an operand along an axis of this length; raise if its own differs and is not broadcast."""
    own, stride = axis
    is_one = cgutils.false_bit if is_exact else builder.icmp_signed("==", own, _I64(1))
    _raise_if_other(context, builder, builder.select(is_one, length, own), length)
    return builder.select(is_one, _I64(0), stride)


def _emit_contraction(
    context: Any, builder: Any, result: nb.Array, arrays: Sequence[Any], rows: Sequence[Sequence[Any]], n_out: int
) -> None:
    """Emit a call of the runtime: `rows` are the lengths of the axes, and the strides of the result and operands."""
    n, bytes_ = len(rows[0]), ir.IntType(8).as_pointer()
    table = cgutils.alloca_once(builder, ir.ArrayType(_I64, max(1, 4 * n)))
    for at, number in enumerate(itertools.chain(*rows)):
        builder.store(number, cgutils.gep_inbounds(builder, table, 0, at))
    arguments = [_I64(n), _I64(n_out), builder.bitcast(table, _I64.as_pointer())]
    arguments += [builder.bitcast(each, bytes_) for each in arrays]
    type_ = ir.FunctionType(ir.IntType(32), [each.type for each in arguments])
    function = cgutils.get_or_insert_function(builder.module, type_, f"pk_contract_{as_dtype(result.dtype)}")
    is_done = builder.call(function, arguments)
    with cgutils.if_unlikely(builder, builder.icmp_signed("==", is_done, is_done.type(0))):
        context.call_conv.return_user_exc(builder, MemoryError, ("no memory for a copy",))
