"""Call fused kernels from kernels that numba compiles: each is a function in the kernel's object file."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype

from pykernels.base.abi import DETAIL_SIZE
from pykernels.build import linking
from pykernels.kernel.emit import fused_code
from pykernels.kernel.expression.fused import Fused
from pykernels.kernel.facts import Facts
from pykernels.kernel.numba.copying import parts
from pykernels.kernel.numba.implementing import compiled, implements
from pykernels.kernel.read.signature import TensorType

_I32, _I64 = ir.IntType(32), ir.IntType(64)
#: The fused kernels in the machine code of this process, by the names of their functions.
PARTS: dict[str, Fused] = {}
_numbers = itertools.count()


def compile_parts(names: Sequence[str], folder: Path, where: str, *, fast_math: bool) -> tuple[list[Path], list[Facts]]:
    """Compile fused kernels, each to an object file with one function of its name; return the files, and facts."""
    objects, facts = [], []
    for name in names:
        path = folder / linking.RELOCATABLE
        facts.append(fused_code.compile_kernel(PARTS[name], path, where, fast_math=fast_math))
        objects.append(linking.isolate([path], folder / f"{name}.o", linking.ENTRY, name))
    return objects, facts


@dataclass(frozen=True)
class Part:
    """The first statements of some lines, as a fused kernel.

    Attributes
    ----------
    count : int
        How many there are.
    numbers : list of ast.stmt
        Those of Python numbers that others read, too, which numba computes again.
    taken, given : tuple of str
        The names of its arguments and results.
    arrays : dict of str to TensorType
        The arguments that are arrays, or NumPy's numbers; the others are Python numbers.
    shapes : list of str
        The shapes of the results, as Python code.
    results : tuple of TensorType
        Their types.
    fused : Fused
        The kernel; it may serve arrays of any rank.
    """

    count: int
    numbers: list[ast.stmt]
    taken: tuple[str, ...]
    given: tuple[str, ...]
    arrays: dict[str, TensorType]
    shapes: list[str]
    results: tuple[TensorType, ...]
    fused: Fused

    def caller(self) -> Any:
        """Return the function that makes room for the results and calls the kernel."""
        name = f"pk_part_{next(_numbers)}"
        PARTS[name] = self.fused
        names: dict[str, Any] = {"contiguous": _contiguous, "common": _common, "empty": np.empty}
        names["run"] = _runner(name, [tensor.ndim for tensor in (*self.arrays.values(), *self.results)])
        lines = [f"    a{at} = contiguous({array})" for at, array in enumerate(self.arrays)]
        for at, (shape, tensor) in enumerate(zip(self.shapes, self.results)):
            names[f"dtype{at}"] = tensor.dtype
            lines.append(f"    r{at} = empty({shape}, dtype{at})")
        numbers = "".join(f"{each}, " for each, _ in self.fused.signature.scalars)
        tensors = "".join(
            f"{kind}{at}, " for kind, many in zip("ar", (self.arrays, self.results)) for at in range(len(many))
        )
        lines.append(f"    run(({tensors}), ({numbers}), r0.size)")
        results = "".join(f"r{at}{'' if tensor.ndim else '[()]'}, " for at, tensor in enumerate(self.results))
        exec("\n".join([f"def call({', '.join(self.taken)}):", *lines, f"    return ({results})"]), names)
        return compiled(names["call"])


@compiled
def _common(length: Any, other: Any) -> Any:
    """Return the length to which two lengths broadcast; the kernel checks that they do."""
    return other if length == 1 else length


def _contiguous(value: Any) -> Any:
    """Return an array whose elements lie one after the other, of an array or a number."""
    return np.ascontiguousarray(value)


@implements(_contiguous)
def _typed_contiguous(value: Any) -> Any:
    if isinstance(value, nb.Array):
        return (lambda value: value) if value.layout == "C" else lambda value: np.ascontiguousarray(value)
    dtype = as_dtype(value)

    def of_number(value: Any) -> Any:
        made = np.empty((), dtype)
        made[()] = value
        return made

    return of_number


def _runner(name: str, ranks: Sequence[int]) -> Any:
    """Return the intrinsic that calls the fused kernel of this name."""

    @intrinsic
    def run(typing_context: Any, tensors: nb.Type, numbers: nb.Type, elements: nb.Type) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = ir.IntType(8).as_pointer()

            def room(values: Sequence[Any], type_: ir.Type) -> Any:
                place = cgutils.alloca_once(builder, ir.ArrayType(type_, max(1, len(values))))
                for at, value in enumerate(values):
                    builder.store(value, cgutils.gep_inbounds(builder, place, 0, at))
                return builder.bitcast(place, type_.as_pointer())

            given = cgutils.unpack_tuple(builder, arguments[0])
            pieces = [parts(context, builder, *each) for each in zip(tensors, given)]
            data = room([builder.bitcast(address, pointer) for address, _, _ in pieces], pointer)
            dims = room([length for _, lengths, _ in pieces for length in lengths], _I64)
            values = zip(cgutils.unpack_tuple(builder, arguments[1]), numbers)
            scalars = room([_bits(context, builder, *each) for each in values], _I64)
            detail = room([_I64(0)] * DETAIL_SIZE, _I64)
            constant = cgutils.global_constant(
                builder, f"{name}_ranks", ir.Constant(ir.ArrayType(_I32, len(ranks)), ranks)
            )
            # As struct pk_kernel; of this the kernel reads the ranks.
            type_ = ir.LiteralStructType([pointer, _I32, _I32, pointer, pointer])
            kernel = ir.Constant(type_, [None, 0, 0, None, constant.bitcast(pointer)])
            described = cgutils.global_constant(builder, f"{name}_kernel", kernel)
            kinds = [pointer, pointer.as_pointer(), *[_I64.as_pointer()] * 2, _I64, _I64, _I64.as_pointer()]
            function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_I32, kinds), name)
            passed = [builder.bitcast(described, pointer), data, dims, scalars, _I64(0), arguments[2], detail]
            status = builder.call(function, passed)
            with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, status)):
                context.call_conv.return_user_exc(builder, Exception, ())
            return context.get_dummy_value()

        return nb.void(tensors, numbers, elements), generate

    return run


def _bits(context: Any, builder: Any, value: Any, type_: nb.Type) -> Any:
    """Return a number as the 64 bits that kernels take."""
    if isinstance(type_, nb.Float):
        return builder.bitcast(context.cast(builder, value, type_, nb.float64), _I64)
    return context.cast(builder, value, type_, nb.int64)
