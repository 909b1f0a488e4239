"""Functions that compiled kernels call: the user's helpers, weak Python numbers, read-only arrays, float16."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Sequence
from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import types as nb
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, overload
from numba.np import arrayobj

from pykernels.kernel.expression import promotion
from pykernels.kernel.numba import (
    bounds,
    iterations,
    loop_functions,  # noqa: F401  (which numba finds)
    overloads,  # noqa: F401
    raising,
    separation,
    unbound,
)
from pykernels.kernel.numba.numpy_numbers import apply_numpy, compute, python_function, resolve
from pykernels.kernel.numba.python_numbers import apply_python, check_fits
from pykernels.kernel.numba.target import compile_function, kernel_target

__all__ = ["OPTIONS", "make_callable", "narrow", "read_only", "rewritten", "widen"]

#: Divisions follow NumPy, and an index past the end raises, as it does in Python.
OPTIONS = {"error_model": "numpy", "boundscheck": True}


_part = compile_function(error_model="numpy", boundscheck=False)(iterations.part)


@functools.cache
def make_callable(helper: Any) -> None:
    """Let compiled code call a plain function of the user's."""
    compiled = functools.cache(lambda: rewritten(helper, ()))

    @overload(helper, jit_options=OPTIONS, strict=False)
    def typed(*args: Any, **kwargs: Any) -> Any:
        return compiled()


def rewritten(function: Any, numbers: Sequence[str], *, in_pieces: bool = False) -> Any:
    """A plain function of the user's as numba is to compile it.

    Parameters
    ----------
    numbers : sequence of str
        Its parameters that are Python numbers.
    in_pieces : bool
        It runs a piece of its `prange`, which it is given as a further argument, see `iterations.PIECE`.
    """

    def prepare(definition: ast.FunctionDef) -> ast.FunctionDef:
        iterations.cut(definition, function.__globals__, in_pieces=in_pieces)
        return separation.separate(raising.without_texts(definition, function.__globals__))

    names = {bounds.FITS: fits, bounds.BEFORE: before, bounds.LOAD: load, bounds.STORE: store}
    names |= {iterations.PART: _part, promotion.APART: apart}
    names |= {promotion.PYTHON: apply_python, promotion.NUMPY: apply_numpy, promotion.LIKE: like}
    write = functools.partial(promotion.rewrite, function, numbers, apply_weak, names=names)
    uncertain = unbound.uncertain_names(write(prepare=prepare))
    return write(prepare=lambda definition: bounds.hoist_checks(prepare(definition), uncertain))


@overload(arrayobj.raise_with_shape_context, target=kernel_target.name)
def raise_without_shapes(given: Any, wanted: Any) -> Any:
    """What an assignment of another shape raises; to compile numba's text takes longer than most kernels do."""

    def raise_it(given: Any, wanted: Any) -> None:
        raise ValueError

    return raise_it


_COMPARISONS = {
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
    *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal),
}


@intrinsic(prefer_literal=True)
def apply_weak(typing_context: Any, function: nb.Type, mask: nb.Type, like: nb.Type, *operands: nb.Type) -> Any:
    """``function(*operands)``, where `mask` tells which are Python numbers, and `like` whose dtype they take."""
    other = operands[like.literal_value]
    dtype = other.dtype if isinstance(other, nb.Array) else nb.unliteral(other)
    called = python_function(function)
    if called in _COMPARISONS and isinstance(dtype, nb.Integer):
        # In a dtype that has room for both.
        types = tuple(map(nb.unliteral, operands))
    else:
        types = tuple(
            _weak_type(dtype, operand) if mask.literal_value >> at & 1 else operand
            for at, operand in enumerate(operands)
        )
    found, returned = resolve(typing_context, function, types)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = cgutils.unpack_tuple(builder, arguments[3])
        for value, old, new in zip(values, operands, types):
            if isinstance(new, nb.Integer) and isinstance(old, nb.Integer) and old != new:
                check_fits(context, builder, value, old, new)
        # First to the weak type, then to what the function takes, which may be wider.
        weak_values = [context.cast(builder, *each) for each in zip(values, operands, types)]
        return compute(context, builder, function, found, returned, weak_values, types)

    return (found and returned(function, mask, like, nb.Tuple(operands))), generate


@intrinsic
def like(typing_context: Any, number: nb.Type, array: nb.Type) -> Any:
    """A Python number in the dtype of the array that it changes in place."""
    type_ = _weak_type(array.dtype, number) if isinstance(array, nb.Array) else number

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if isinstance(type_, nb.Integer) and isinstance(number, nb.Integer) and type_ != number:
            check_fits(context, builder, arguments[0], number, type_)
        return context.cast(builder, arguments[0], number, type_)

    return type_(number, array), generate


def _weak_type(dtype: nb.Type, number: nb.Type) -> nb.Type:
    """The type that a Python number takes next to `dtype`."""
    if isinstance(number, nb.Integer) and isinstance(dtype, (nb.Integer, nb.Float)):
        return dtype
    if isinstance(number, nb.Float) and isinstance(dtype, nb.Float):
        return dtype
    return number


@intrinsic
def before(typing_context: Any, stop: nb.Integer) -> Any:
    """The number before `stop`, in 64 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (number,) = _whole_numbers(context, builder, stop, arguments[0])
        return builder.sub(number, number.type(1))

    return nb.intp(stop), generate


@intrinsic
def fits(typing_context: Any, start: nb.Integer, stop: nb.Integer, *places: nb.Type) -> Any:
    """Raise `IndexError` if a loop has iterations, and an array lacks the elements of the first or the last of them.

    `places` are each array, and its index in both iterations. Returns whether any index is negative. Not for what
    `load` checks itself.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (begin,), (end,) = (_whole_numbers(context, builder, *each) for each in zip((start, stop), arguments[:2]))
        result = cgutils.alloca_once_value(builder, cgutils.false_bit)
        values = cgutils.unpack_tuple(builder, arguments[2])
        # In branches, one for each array, so that LLVM knows in the loop what has been checked.
        with builder.if_then(builder.icmp_signed("<", begin, end)):
            wraps = cgutils.false_bit
            # No array has as many elements as this, so some index is past its end, if only by overflow.
            is_long = builder.icmp_unsigned(">", builder.sub(end, begin), ir.Constant(end.type, 1 << 48))
            for at in range(0, len(places), 3):
                (array, *types), (value, *indices) = places[at : at + 3], values[at : at + 3]
                if not _is_plain(array, types[0]):
                    continue
                is_outside = is_long
                _, sizes, _ = _unpacked(context, builder, array, value)
                for type_, index in zip(types, indices):
                    for i, size in zip(_whole_numbers(context, builder, type_, index), sizes):
                        is_negative = builder.icmp_signed("<", i, i.type(0))
                        i = builder.select(is_negative, builder.add(i, size), i)
                        is_outside = builder.or_(is_outside, builder.icmp_unsigned(">=", i, size))
                        wraps = builder.or_(wraps, is_negative)
                with cgutils.if_unlikely(builder, is_outside):
                    context.call_conv.return_user_exc(builder, IndexError, ("index is out of bounds",))
            builder.store(wraps, result)
        return builder.load(result)

    return nb.boolean(start, stop, nb.Tuple(places)), generate


@intrinsic(prefer_literal=True)
def load(typing_context: Any, array: nb.Type, index: nb.Type, wraps: nb.Type, axes: nb.Type) -> Any:
    """``array[index]`` without a check, where `fits` has made it."""
    found = typing_context.resolve_function_type(operator.getitem, (array, index), {})
    is_checked = _is_checked(index, axes.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_, index_, wraps_, _ = arguments
        if _is_element(array, index) and is_checked:
            return _element(context, builder, array, array_, index, index_, wraps_, axes.literal_value)[1]()
        return _call(context, builder, operator.getitem, found, signature.args[:2], arguments[:2], is_checked)

    return (found and found.return_type(array, index, wraps, axes)), generate


@intrinsic(prefer_literal=True)
def store(typing_context: Any, array: nb.Type, index: nb.Type, value: nb.Type, wraps: nb.Type, axes: nb.Type) -> Any:
    """``array[index] = value`` without a check, where `fits` has made it."""
    found = typing_context.resolve_setitem(array, index, value)
    is_checked = _is_checked(index, axes.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_, index_, value_, wraps_, _ = arguments
        if _is_element(array, index) and array.mutable and is_checked:
            value_ = context.cast(builder, value_, value, array.dtype)
            _element(context, builder, array, array_, index, index_, wraps_, axes.literal_value)[0](value_)
        else:
            _call(context, builder, operator.setitem, found, signature.args[:3], arguments[:3], is_checked)
        return context.get_dummy_value()

    return (found and nb.void(array, index, value, wraps, axes)), generate


def _is_checked(index: nb.Type, axes: int) -> bool:
    """Whether all indices of a loop lie between the first and the last: no NumPy number's overflow is among them."""
    types = index.types if isinstance(index, nb.BaseTuple) else (index,)
    return all(nb.unliteral(type_) == nb.intp for at, type_ in enumerate(types) if axes >> bounds.COMPUTED + at & 1)


def _element(
    context: Any, builder: Any, array: nb.Array, value: Any, index_type: nb.Type, index: Any, wraps: Any, axes: int
) -> tuple[Any, Any]:
    """What stores to one element of an array, and what loads it.

    Where `wraps`, the negative indices of `axes` count from the end.
    """
    data, sizes, strides = _unpacked(context, builder, array, value)
    indices = [
        builder.select(builder.and_(wraps, builder.icmp_signed("<", i, i.type(0))), builder.add(i, size), i)
        if axes >> at & 1
        else i
        for at, (i, size) in enumerate(zip(_whole_numbers(context, builder, index_type, index), sizes))
    ]
    pointer = cgutils.get_item_pointer2(context, builder, data, sizes, strides, array.layout, indices)
    return (
        lambda new: arrayobj.store_item(context, builder, array, new, pointer),
        lambda: arrayobj.load_item(context, builder, array, pointer),
    )


def _unpacked(context: Any, builder: Any, array: nb.Array, value: Any) -> tuple[Any, list[Any], list[Any]]:
    """The address of an array's data, its sizes and its strides."""
    model = context.data_model_manager[array]
    data, shape, strides = (
        builder.extract_value(value, model.get_field_position(n)) for n in ("data", "shape", "strides")
    )
    return data, cgutils.unpack_tuple(builder, shape, array.ndim), cgutils.unpack_tuple(builder, strides, array.ndim)


def _whole_numbers(context: Any, builder: Any, type_: nb.Type, index: Any) -> list[Any]:
    """The numbers of an index, each as wide as a pointer."""
    if isinstance(type_, nb.BaseTuple):
        numbers, types = cgutils.unpack_tuple(builder, index), list(type_)
    else:
        numbers, types = [index], [type_]
    return [context.cast(builder, number, old, nb.intp) for number, old in zip(numbers, types)]


def _call(context: Any, builder: Any, function: Any, found: Any, types: Any, arguments: Any, is_checked: bool) -> Any:
    """What `operator.getitem` or ``setitem`` does, with checks where there are any to make."""
    if _is_plain(*types[:2]) and is_checked:
        context = context.subtarget(enable_boundscheck=False)
    cast = [context.cast(builder, argument, old, new) for argument, old, new in zip(arguments, types, found.args)]
    return context.get_function(function, found)(builder, cast)


def _is_plain(array: nb.Type, index: nb.Type) -> bool:
    """Whether it is an array at whole numbers."""
    indices = index.types if isinstance(index, nb.BaseTuple) else (index,)
    return isinstance(array, nb.Array) and all(isinstance(i, nb.Integer) for i in indices)


def _is_element(array: nb.Type, index: nb.Type) -> bool:
    return _is_plain(array, index) and array.ndim == (len(index) if isinstance(index, nb.BaseTuple) else 1)


@intrinsic
def apart(typing_context: Any, value: nb.Type, target: nb.Type) -> Any:
    """The value, or a copy of it where it is an array whose memory the target may have, too.

    Inputs cannot be written to, so nothing that is changed lies there.
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
    """A copy of a contiguous array, if another one has some of its memory."""
    begin, other = value.ctypes.data, target.ctypes.data
    if begin < other + target.nbytes and other < begin + value.nbytes:
        return value.copy()
    return value


@intrinsic
def read_only(typing_context: Any, array: nb.Array) -> Any:
    """The same array, of a type that cannot be written to."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return impl_ret_borrowed(context, builder, signature.return_type, arguments[0])

    return array.copy(readonly=True)(array), generate


@intrinsic
def _from_half(typing_context: Any, bits: nb.Integer) -> Any:
    """The float32 that the bits of a float16 stand for."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return nb.float32(nb.uint16), generate


@intrinsic
def _to_half(typing_context: Any, number: nb.Float) -> Any:
    """The bits of the float16 nearest to a float32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return nb.uint16(nb.float32), generate


@compile_function(error_model="numpy", boundscheck=False)
def widen(halves: Any) -> Any:
    """A float32 array of the numbers whose float16 bits `halves` holds."""
    singles = np.empty(halves.shape, np.float32)
    source, target = halves.reshape(-1), singles.reshape(-1)
    for i in range(source.size):
        target[i] = _from_half(source[i])
    return singles


@compile_function(error_model="numpy", boundscheck=False)
def narrow(singles: Any, halves: Any) -> None:
    """Write float32 numbers as float16 bits."""
    source, target = singles.reshape(-1), halves.reshape(-1)
    for i in range(source.size):
        target[i] = _to_half(source[i])
