"""Call functions of the runtime, which are written in C++, in functions that numba compiles."""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic

from pykernels.kernel.numba.copying import parts


@intrinsic(prefer_literal=True)
def call_runtime(typing_context: Any, name: nb.Type, *given: nb.Type) -> Any:
    """Call a function of the runtime with the addresses of arrays and with integers; raise if it lacks memory.

    The arrays must be contiguous, and the function must know their sizes.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, passed = ir.IntType(8).as_pointer(), []
        for type_, value in zip(given, cgutils.unpack_tuple(builder, arguments[1])):
            if isinstance(type_, nb.Array):
                passed.append(builder.bitcast(parts(context, builder, type_, value)[0], byte))
            else:
                passed.append(context.cast(builder, value, type_, nb.int64))
        function_type = ir.FunctionType(ir.IntType(32), [each.type for each in passed])
        function = cgutils.get_or_insert_function(builder.module, function_type, name.literal_value)
        is_done = builder.call(function, passed)
        with cgutils.if_unlikely(builder, builder.icmp_signed("==", is_done, is_done.type(0))):
            context.call_conv.return_user_exc(builder, MemoryError, ("no memory for an array",))
        return context.get_dummy_value()

    return nb.void(name, nb.Tuple(given)), generate
