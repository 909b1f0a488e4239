"""Broadcast axes of length 1 in elementwise loops of kernels that numba compiles.

For each element, numba tests for each axis of each array whether its length is 1. LLVM hoists such a test by
duplicating the loop, once for each outcome: 256 loops for two arrays of 4 axes, which took most of a kernel's compile
time. This module tests only the two axes along which elements may be contiguous; along the others, an array of length 1
has a stride of 0. Operations on the same types share their code.
"""

from __future__ import annotations

import contextlib
import operator
import types
from typing import Any

import llvmlite.ir as ir
from numba import types as nb
from numba.core import cgutils
from numba.core.funcdesc import default_mangler
from numba.core.imputils import Registry
from numba.np import npyimpl, ufunc_db

from pykernels.kernel.numba.semantics.numpy_operations import ufunc_loop

registry = Registry("pykernels broadcasting")

_ASKED = 2


class _Array(npyimpl._ArrayHelper):  # type: ignore[misc]
    """An array whose strides are 0 along axes of length 1, except for the axes that are tested."""

    def asks(self, axis: int) -> bool:
        return axis < _ASKED if self.layout == "F" else axis >= self.ndim - _ASKED

    def create_iter_indices(self) -> Any:
        return _Indices(self, super().create_iter_indices().indices)

    def _load_effective_address(self, indices: Any) -> Any:
        return cgutils.get_item_pointer2(self.context, self.builder, self.data, self.shape, self.strides, "A", indices)


class _Indices(npyimpl._ArrayIndexingHelper):  # type: ignore[misc]
    def update_indices(self, loop_indices: Any, name: Any) -> None:
        builder, shape = self.array.builder, self.array.shape
        numbers = loop_indices[len(loop_indices) - len(shape) :]
        for axis, (number, index, size) in enumerate(zip(numbers, self.indices, shape)):
            is_broadcast = builder.icmp_unsigned(">", size, size.type(1))
            with builder.if_then(is_broadcast) if self.array.asks(axis) else contextlib.nullcontext():
                builder.store(number, index)


def _prepare_argument(context: Any, builder: Any, value: Any, type_: Any, where: str = "input operand") -> Any:
    """Replace numba's function of this name."""
    found = npyimpl._prepare_argument(context, builder, value, type_, where)
    if not isinstance(found, npyimpl._ArrayHelper) or found.ndim <= _ASKED:
        return found
    array = _Array(*found)
    item = context.get_abi_sizeof(context.get_data_type(found.base_type))
    strides = []
    for axis, (size, stride) in enumerate(zip(found.shape, found.strides)):
        if not array.asks(axis):
            stride = builder.select(builder.icmp_unsigned(">", size, size.type(1)), stride, stride.type(0))
        elif axis == {"C": found.ndim - 1, "F": 0}.get(found.layout):
            stride = stride.type(item)  # which shows LLVM that elements are contiguous
        strides.append(stride)
    return array._replace(strides=strides)


def _call(context: Any, builder: Any, sig: Any, args: Any, ufunc: Any, kernel_class: Any) -> Any:
    """Call ``numpy_ufunc_kernel`` in a separate function that all calls with these types share."""
    if all(not isinstance(each, nb.Array) or each.ndim <= _ASKED for each in sig.args):
        return _written_out(context, builder, sig, args, ufunc, kernel_class)
    convention = context.call_conv
    name = default_mangler(f"pk_{kernel_class.__name__}_{ufunc.__name__}", sig.args)
    function = builder.module.globals.get(name)
    if function is None:
        type_ = convention.get_function_type(sig.return_type, sig.args)
        function = ir.Function(builder.module, type_, name)
        function.linkage = "linkonce_odr"
        function.attributes.add("noinline")
        inner = ir.IRBuilder(function.append_basic_block("entry"))
        convention.init_call_helper(inner)
        given = convention.decode_arguments(inner, sig.args, function)
        result = _written_out(context, inner, sig, given, ufunc, kernel_class)
        convention.return_value(inner, context.get_return_value(inner, sig.return_type, result))
    status, result = convention.call_function(builder, function, sig.return_type, sig.args, args)
    with cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return result


# numba's functions of arrays, except for the preparation of arguments, the choice of a loop, and the code that calls
# share.
_NAMES = {**vars(npyimpl), "_prepare_argument": _prepare_argument, "ufunc_find_matching_loop": ufunc_loop}


def _renamed(name: str) -> Any:
    """Return a copy of a numba function that calls our replacements."""
    function = getattr(npyimpl, name)
    return types.FunctionType(function.__code__, _NAMES, name, function.__defaults__, function.__closure__)


_written_out = _renamed("numpy_ufunc_kernel")
_NAMES["numpy_ufunc_kernel"] = _call
for _name in (
    "_ufunc_db_function",
    "register_ufunc_kernel",
    "register_unary_operator_kernel",
    "register_binary_operator_kernel",
):
    _NAMES[_name] = _renamed(_name)
_renamed("register_ufuncs")(ufunc_db.get_ufuncs(), registry.lower)
registry.lower(operator.pos, nb.Array)(_renamed("array_positive_impl"))
