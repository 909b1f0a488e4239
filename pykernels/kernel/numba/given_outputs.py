"""Check elementwise functions that write to given arrays: ``y += x`` and ``np.add(x, z, y)``.

numba itself assumes that the shapes fit, and breaks on operators that change an input in place.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types as nb
from numba.core import cgutils, errors

from pykernels.kernel.numba.copying import parts
from pykernels.kernel.numba.semantics.numpy_numbers import IN_PLACE, python_function


def _is_in_place(function: Any) -> bool:
    return isinstance(function, type(operator.iadd)) and function in IN_PLACE


def refuse_inputs(function: nb.Type, types: Sequence[nb.Type]) -> None:
    """Raise numba's `TypingError` if a call changes an input in place."""
    if _is_in_place(python_function(function)) and isinstance(types[0], nb.Array) and not types[0].mutable:
        raise errors.TypingError("Cannot modify a readonly array")


def checked(context: Any, function: Any, signature: Any, found: Any) -> Any:
    """Return numba's implementation of a call, with a check of shapes before it if it writes to given arrays."""
    called, types = python_function(function) or function, signature.args
    if isinstance(called, np.ufunc) and called.signature is None and len(types) > called.nin:
        return _Checked(context, found, types, slice(0, called.nin), slice(called.nin, None))
    if _is_in_place(called) and not isinstance(types[0], nb.Number):
        return _Checked(context, found, types, slice(1, None), slice(0, 1))
    return found


class _Checked:
    """An implementation that first raises `ValueError` if its inputs do not fit its outputs."""

    def __init__(self, context: Any, found: Any, types: Sequence[nb.Type], inputs: slice, outputs: slice) -> None:
        if any(isinstance(type_, nb.Optional) for type_ in types):
            raise errors.UnsupportedError("an array that may be None")
        self._context, self._found, self._types = context, found, types
        self._inputs, self._outputs = inputs, outputs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)

    def __call__(self, builder: Any, arguments: Sequence[Any], loc: Any = None) -> Any:
        (sizes, *others), inputs = (
            [
                parts(self._context, builder, type_, value)[1]
                for type_, value in zip(self._types[which], arguments[which])
                if isinstance(type_, nb.Array)
            ]
            or [[]]
            for which in (self._outputs, self._inputs)
        )
        is_wrong = cgutils.false_bit
        for given in inputs:
            is_wrong = builder.or_(is_wrong, _is_other(builder, given, sizes, may_be_one=True))
        for given in others:
            is_wrong = builder.or_(is_wrong, _is_other(builder, given, sizes, may_be_one=False))
        with cgutils.if_unlikely(builder, is_wrong):
            self._context.call_conv.return_user_exc(builder, ValueError, ("operands could not be broadcast together",))
        return self._found(builder, arguments, loc)


def _is_other(builder: Any, given: Sequence[Any], sizes: Sequence[Any], *, may_be_one: bool) -> Any:
    """Whether the sizes of an array differ from those of the first output."""
    if len(given) > len(sizes) or (len(given) < len(sizes) and not may_be_one):
        return cgutils.true_bit
    is_other = cgutils.false_bit
    for size, wanted in zip(reversed(given), reversed(sizes)):
        differs = builder.icmp_signed("!=", size, wanted)
        if may_be_one:
            differs = builder.and_(differs, builder.icmp_signed("!=", size, size.type(1)))
        is_other = builder.or_(is_other, differs)
    return is_other
