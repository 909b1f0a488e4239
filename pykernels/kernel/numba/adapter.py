"""Emit the adapter between the kernel ABI and a kernel: buffers become arrays, results go into the outputs.

It is LLVM IR, emitted for one signature. An adapter in Python would take numba as long as many a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import llvmlite.ir as ir
from numba import types as nb
from numba.core import cgutils
from numba.core.target_extension import target_override
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype

from pykernels.base.abi import Status
from pykernels.base.dtypes import computed_in
from pykernels.build import linking
from pykernels.kernel.emit import bfloat16
from pykernels.kernel.numba.arrays import output_reuse
from pykernels.kernel.numba.copying import emit_whole_copy
from pykernels.kernel.numba.target import kernel_target
from pykernels.kernel.read.signature import Signature, TensorType, group_shapes

#: The types of the parameters: ``data, dims, integers, reals, detail, begin, end``.
_PARAMETERS = (*map(nb.CPointer, (nb.voidptr, nb.int64, nb.int64, nb.float64, nb.int64)), nb.int64, nb.int64)
_I32, _I64 = ir.IntType(32), ir.IntType(64)


@dataclass(frozen=True)
class Result:
    """One output: where it is in the tuples of the returned value, and its kind."""

    path: tuple[int, ...]
    is_array: bool
    is_widened: bool


def link(
    kernel: Any,
    signature: Signature,
    keywords: Sequence[str],
    results: Sequence[Result] | None,
    *,
    in_pieces: bool,
    may_lend: bool,
) -> Any:
    """Return an LLVM module with the function `linking.ENTRY`, the adapter, the kernel and all that it calls.

    Parameters
    ----------
    kernel : numba.core.compiler.CompileResult
    keywords : sequence of str
        The keywords of the kernel, in the order of its parameters.
    results : sequence of Result or None
        The kernel's result for each output; None if it writes into ``outs``.
    in_pieces : bool
        Whether the kernel receives the piece to compute as its last argument.
    may_lend : bool
        Whether the kernel may compute a result directly in the memory of an output.
    """
    context = kernel_target.target_context.subtarget(enable_nrt=True)
    library = context.codegen().create_library("adapter")
    library.add_linking_library(kernel.library)
    module = library.create_ir_module("adapter")
    function = ir.Function(module, context.call_conv.get_function_type(nb.int32, _PARAMETERS), "pk_adapter")
    lent = -1 if results is None or not may_lend else _lent(signature, results)
    with target_override(kernel_target.name), context.push_code_library(library):
        _Adapter(context, function, kernel, signature, results, lent).emit(keywords, in_pieces=in_pieces)
    _emit_entry(context, function, lends=lent >= 0)
    library.add_ir_module(module)
    return library.linked()


def is_half(tensor: TensorType) -> bool:
    """Whether a tensor is computed in float32, and rounded once, at the end."""
    return computed_in(tensor.dtype) != tensor.dtype


def _lent(signature: Signature, results: Sequence[Result]) -> int:
    """Return the output whose memory is lent for its result: the first with the most axes; -1 for none."""
    outputs = signature.tensors[signature.n_inputs :]
    axes = [
        0 if not result.is_array or result.is_widened or is_half(tensor) else tensor.ndim
        for tensor, result in zip(outputs, results)
    ]
    return axes.index(max(axes)) if any(axes) else -1


@dataclass(frozen=True)
class _Array:
    """An array in LLVM IR: numba's type of it, its value, and its fields."""

    type_: nb.Array
    value: Any
    fields: Any


class _Adapter:
    """Emits the adapter of one signature."""

    def __init__(
        self,
        context: Any,
        function: ir.Function,
        kernel: Any,
        signature: Signature,
        results: Sequence[Result] | None,
        lent: int,
    ) -> None:
        self._context = context
        self._kernel = kernel
        self._signature = signature
        self._results = results
        self._lent = lent
        self._builder = ir.IRBuilder(function.append_basic_block("entry"))
        self._arguments = dict(
            zip(
                ("data", "dims", "integers", "reals", "detail", "begin", "end"),
                context.call_conv.get_arguments(function),
            )
        )
        self._owned: list[tuple[nb.Type, Any]] = []  # what refers to memory of our own

    def emit(self, keywords: Sequence[str], *, in_pieces: bool) -> None:
        builder, signature = self._builder, self._signature
        buffers = list(self._buffers())
        arrays = [self._computed(i, buffer) for i, buffer in enumerate(buffers)]
        types = iter(self._kernel.signature.args)
        arguments = [self._tuple(next(types), group_shapes(signature.inputs, iter(arrays)))]
        if self._results is None:
            outs = group_shapes(signature.outputs, iter(arrays[signature.n_inputs :]))
            arguments.append(self._tuple(next(types), outs))
        arguments += [self._keyword(keyword, next(types)) for keyword in keywords]
        if in_pieces:
            arguments.append(self._piece(next(types), arrays[signature.n_inputs]))
        if self._lent >= 0:
            output = arrays[signature.n_inputs + self._lent]
            others = [(buffer.type_, buffer.value) for buffer in buffers[: signature.n_inputs]]
            output_reuse.emit_loan(self._context, builder, (output.type_, output.value), others)
        kernel = self._kernel
        returned = self._context.call_internal(builder, kernel.fndesc, kernel.signature, arguments)
        if self._results is not None:
            self._owned.append((kernel.signature.return_type, returned))
            self._store(returned, self._results, buffers[signature.n_inputs :])
        for i, tensor in enumerate(signature.tensors):
            is_changed = tensor.mutable or (i >= signature.n_inputs and self._results is None)
            if is_changed and is_half(tensor):
                self._store_each(buffers[i], arrays[i], tensor)
        self._return(Status.OK)

    def _buffers(self) -> Iterator[_Array]:
        """Yield the arrays of the host, with the bits of those in half precision."""
        at = 0
        for i, tensor in enumerate(self._signature.tensors):
            shape = [self._load("dims", at + axis) for axis in range(tensor.ndim)]
            at += tensor.ndim
            dtype = nb.uint16 if is_half(tensor) else from_dtype(tensor.dtype)
            yield self._array(dtype, self._load("data", i), shape)

    def _array(self, dtype: nb.Type, data: Any, shape: Sequence[Any], owner: Any = None) -> _Array:
        type_ = nb.Array(dtype, len(shape), "C")
        made = self._context.make_array(type_)(self._context, self._builder)
        itemsize = _I64(self._context.get_abi_sizeof(self._context.get_data_type(dtype)))
        strides = [itemsize]
        for length in shape[:0:-1]:
            strides.insert(0, self._builder.mul(strides[0], length))
        data = self._builder.bitcast(data, made.data.type)
        strides = strides[: len(shape)]
        arrayobj.populate_array(made, data=data, shape=list(shape), strides=strides, itemsize=itemsize, meminfo=owner)
        return _Array(type_, made._getvalue(), made)

    def _computed(self, i: int, buffer: _Array) -> _Array:
        """Return the array that the kernel sees."""
        signature = self._signature
        tensor = signature.tensors[i]
        if not is_half(tensor) or (i >= signature.n_inputs and self._results is not None):
            return buffer
        dtype = computed_in(tensor.dtype)
        size = self._builder.mul(buffer.fields.nitems, _I64(dtype.itemsize))
        alignment = _I32(self._context.get_preferred_array_alignment(dtype))
        owner = self._context.nrt.meminfo_alloc_aligned(self._builder, size, alignment)
        data = self._context.nrt.meminfo_data(self._builder, owner)
        array = self._array(from_dtype(dtype), data, cgutils.unpack_tuple(self._builder, buffer.fields.shape), owner)
        self._owned.append((array.type_, array.value))
        if i < signature.n_inputs:
            widened = _WIDEN[tensor.dtype.name]
            with self._elements(array, buffer) as (target, source):
                self._builder.store(widened(self._builder, self._builder.load(source)), target)
        return array

    def _tuple(self, type_: nb.Type, members: Any) -> Any:
        """Return a group of arrays, in which None is what a call leaves out."""
        if isinstance(members, tuple):
            values = [self._tuple(each, member) for each, member in zip(type_, members)]
            return self._context.make_tuple(self._builder, type_, values)
        return self._context.get_dummy_value() if members is None else members.value

    def _keyword(self, keyword: str, type_: nb.Type) -> Any:
        signature = self._signature
        for slot, (name, _) in enumerate(signature.scalars):
            if name == keyword:
                value = self._load("reals" if name in signature.reals else "integers", slot)
                return self._builder.icmp_signed("!=", value, _I64(0)) if name in signature.flags else value
        return self._context.get_constant_generic(self._builder, type_, dict(signature.constants)[keyword])

    def _piece(self, type_: nb.Type, output: _Array) -> Any:
        """Return the piece to compute: where it begins and ends, and the number of all elements.

        With no elements to divide among threads, it is all iterations: another output may have elements.
        """
        total = output.fields.nitems
        is_empty = self._builder.icmp_signed("==", total, _I64(0))
        numbers = zip((0, 1, 1), (self._arguments["begin"], self._arguments["end"], total))
        values = [self._builder.select(is_empty, _I64(whole), number) for whole, number in numbers]
        return self._context.make_tuple(self._builder, type_, values)

    def _store(self, returned: Any, results: Sequence[Result], outputs: Sequence[_Array]) -> None:
        found = []
        for at, (result, output) in enumerate(zip(results, outputs)):
            type_, value = self._kernel.signature.return_type, returned
            for place in result.path:
                type_, value = type_[place], self._builder.extract_value(value, place)
            found.append((type_, value))
            if output.type_.ndim:
                self._check_shape(at, output, self._context.make_array(type_)(self._context, self._builder, value))
        tensors = self._signature.tensors[self._signature.n_inputs :]
        # Store the lent output last, since another result may lie in its memory.
        for at in sorted(range(len(outputs)), key=lambda each: each == self._lent):
            (type_, value), output, result = found[at], outputs[at], results[at]
            if not result.is_array:
                self._store_number(output, output.fields.data, value, type_, tensors[at])
            elif result.is_widened or is_half(tensors[at]) or not output.type_.ndim:
                fields = self._context.make_array(type_)(self._context, self._builder, value)
                self._store_each(output, _Array(type_, value, fields), tensors[at])
            else:
                if at == self._lent:
                    output_reuse.emit_end(self._context, self._builder, (output.type_, output.value), (type_, value))
                emit_whole_copy(self._context, self._builder, (output.type_, output.value), (type_, value))

    def _check_shape(self, at: int, output: _Array, result: Any) -> None:
        """Emit the end of the call with `Status.WRONG_SHAPE` if an output has another shape than its result."""
        builder = self._builder
        wanted, shape = (cgutils.unpack_tuple(builder, each.shape) for each in (output.fields, result))
        pairs = [builder.icmp_signed("!=", *each) for each in zip(wanted, shape)]
        differs = pairs[0]
        for each in pairs[1:]:
            differs = builder.or_(differs, each)
        with cgutils.if_unlikely(builder, differs):
            for place, number in enumerate((_I64(at), _I64(len(shape)), *shape)):
                builder.store(number, cgutils.gep(builder, self._arguments["detail"], place))
            self._return(Status.WRONG_SHAPE)

    def _store_each(self, output: _Array, result: _Array, tensor: TensorType) -> None:
        """Emit a loop that converts the elements of a result to the dtype of its output, one by one."""
        with self._elements(output, result) as (target, source):
            number = arrayobj.load_item(self._context, self._builder, result.type_, source)
            self._store_number(output, target, number, result.type_.dtype, tensor)

    def _store_number(self, output: _Array, place: Any, number: Any, type_: nb.Type, tensor: TensorType) -> None:
        number = self._context.cast(self._builder, number, type_, from_dtype(computed_in(tensor.dtype)))
        if is_half(tensor):
            self._builder.store(_NARROW[tensor.dtype.name](self._builder, number), place)
        else:
            arrayobj.store_item(self._context, self._builder, output.type_, number, place)

    @contextmanager
    def _elements(self, *arrays: _Array) -> Iterator[list[Any]]:
        """Emit a loop over arrays of one shape, and give the addresses of their elements."""
        builder, context = self._builder, self._context
        if all(array.type_.layout == "C" for array in arrays):
            with cgutils.for_range(builder, arrays[0].fields.nitems, intp=_I64) as loop:
                yield [cgutils.gep(builder, array.fields.data, loop.index) for array in arrays]
        else:
            shape = cgutils.unpack_tuple(builder, arrays[0].fields.shape)
            with cgutils.loop_nest(builder, shape, _I64) as indices:
                yield [
                    cgutils.get_item_pointer(context, builder, array.type_, array.fields, indices) for array in arrays
                ]

    def _return(self, status: Status) -> None:
        for type_, value in self._owned:
            self._context.nrt.decref(self._builder, type_, value)
        self._context.call_conv.return_value(self._builder, _I32(status.value))

    def _load(self, argument: str, at: int) -> Any:
        return self._builder.load(cgutils.gep(self._builder, self._arguments[argument], at))


def _emit_entry(context: Any, adapter: ir.Function, *, lends: bool) -> None:
    """Emit the function of the kernel ABI: it calls the adapter and maps exceptions to a status."""
    data, dims, integers, reals, detail, *_ = map(context.get_value_type, _PARAMETERS)
    type_ = ir.FunctionType(_I32, [ir.IntType(8).as_pointer(), data, dims, integers, _I64, _I64, detail])
    function = ir.Function(adapter.module, type_, linking.ENTRY)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    _, buffers, sizes, scalars, begin, end, details = function.args
    arguments = [buffers, sizes, scalars, builder.bitcast(scalars, reals), details, begin, end]
    status, returned = context.call_conv.call_function(builder, adapter, nb.int32, _PARAMETERS, arguments)
    result = builder.select(status.is_ok, returned, _I32(1))
    if lends:
        # If the kernel fails, the memory that is lent to it is taken back.
        with cgutils.if_unlikely(builder, builder.icmp_signed("!=", result, _I32(0))):
            builder.call(ir.Function(adapter.module, ir.FunctionType(ir.VoidType(), []), output_reuse.TAKE_BACK), [])
    builder.ret(result)


def _from_float16(builder: Any, bits: Any) -> Any:
    return builder.fpext(builder.bitcast(bits, ir.HalfType()), ir.FloatType())


def _to_float16(builder: Any, number: Any) -> Any:
    return builder.bitcast(builder.fptrunc(number, ir.HalfType()), ir.IntType(16))


# How the bits of a dtype become float32, and float32 the nearest bits.
_WIDEN: dict[str, Callable[..., Any]] = {"float16": _from_float16, "bfloat16": bfloat16.widened}
_NARROW: dict[str, Callable[..., Any]] = {"float16": _to_float16, "bfloat16": bfloat16.narrowed}
