"""The axes that a function folds, and arrays that are seen as five axes for `folding`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import types as nb
from numba.core import cgutils, errors
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype

from pykernels.kernel.numba.copying import emit_view, parts
from pykernels.kernel.numba.implementing import is_integer

_I64 = ir.IntType(64)


class Axes:
    """The axes that a function folds: all (None), a known number or tuple of them, or one known at run time.

    Raises
    ------
    TypingError
        There is no such axis, or the axes are not in one or two groups of neighbours.
    """

    def __init__(self, axis: Any, ndim: int) -> None:
        self.is_known = not isinstance(axis, nb.Type)
        if not self.is_known:
            if not is_integer(axis):
                raise errors.TypingError("an axis is a whole number, or a tuple of known ones")
            self.count, limits = 1, (0, 0, 0, 0)
        else:
            places = self._places(axis, ndim)
            self.count = len(places)
            ends = [at + 1 for at in places if at + 1 not in places]
            begins = [at for at in places if at - 1 not in places]
            if len(ends) > 2:
                raise errors.TypingError("axes in more than two groups of neighbours")
            if len(ends) == 2:
                limits = begins[0], ends[0], begins[1], ends[1]
            else:
                begin, end = (begins or [ndim])[0], (ends or [ndim])[0]
                limits = begin, begin, begin, end
        self.left = ndim - self.count

        #: Where the groups of axes begin and end, if they are known.
        self.limits = limits

    @staticmethod
    def _places(axis: Any, ndim: int) -> list[int]:
        axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        if not all(is_integer(each) and -ndim <= each < ndim for each in axes):
            raise errors.TypingError(f"{axis!r} is no axis of {ndim}")
        places = sorted(each % ndim for each in axes)
        if len(set(places)) != len(places):
            raise errors.TypingError("duplicate value in 'axis'")
        return places


def _products(builder: Any, lengths: Sequence[Any], limits: Sequence[Any]) -> list[Any]:
    """Return the products of the lengths before, between and after four limits."""
    one = _I64(1)
    products = []
    for low, high in zip([None, *limits], [*limits, None]):
        product = one
        for i, length in enumerate(lengths):
            is_in = cgutils.true_bit
            if low is not None:
                is_in = builder.and_(is_in, builder.icmp_signed(">=", low.type(i), low))
            if high is not None:
                is_in = builder.and_(is_in, builder.icmp_signed("<", high.type(i), high))
            product = builder.mul(product, builder.select(is_in, length, one))
        products.append(product)
    return products


@intrinsic
def blocks(typing_context: Any, array: nb.Type, limits: nb.Type) -> Any:
    """Return a view of a contiguous array with five axes, whose second and fourth are between the limits."""
    returned = array.copy(ndim=5, layout="C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, arguments[0])
        _, lengths, _ = parts(context, builder, array, arguments[0])
        sizes = _products(builder, lengths, cgutils.unpack_tuple(builder, arguments[1], 4))
        strides = [view.itemsize]
        for size in sizes[:0:-1]:
            strides.insert(0, builder.mul(strides[0], size))
        return emit_view(context, builder, returned, view, view.data, sizes, strides)

    return returned(array, limits), generate


@intrinsic(prefer_literal=True)
def lengths_left(typing_context: Any, array: nb.Type, limits: nb.Type, left: nb.Type) -> Any:
    """Return the lengths of the axes outside of the limits, of which `left` are; of as many as before, 1 between."""
    ndim = left.literal_value
    returned = nb.UniTuple(nb.intp, ndim) if ndim else nb.Tuple(())

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, lengths, _ = parts(context, builder, array, arguments[0])
        ends = cgutils.unpack_tuple(builder, arguments[1], 4)
        sizes = []
        for j in range(ndim):
            place, is_one = _I64(j), cgutils.false_bit
            for begin, end in (ends[:2], ends[2:]):
                is_behind = builder.icmp_signed(">=", place, begin)
                if ndim == array.ndim:
                    is_one = builder.or_(is_one, builder.and_(is_behind, builder.icmp_signed("<", place, end)))
                else:
                    place = builder.select(is_behind, builder.add(place, builder.sub(end, begin)), place)
            size = _I64(1)
            for i, length in enumerate(lengths):
                size = builder.select(builder.icmp_signed("==", place, _I64(i)), length, size)
            sizes.append(builder.select(is_one, _I64(1), size))
        return context.make_tuple(builder, returned, sizes)

    return returned(array, limits, left), generate


def dtype_of(array: nb.Array) -> np.dtype:
    """Return NumPy's dtype of a type of arrays."""
    dtype: np.dtype = as_dtype(array.dtype)
    return dtype
