"""Operations on elements in kernels that numba compiles, where numba's own do not give what NumPy gives, or trap.

They are written by the emitters of all other kernels. numba's own end the process for the smallest integer divided by
-1, say. An array to the power of 0.5 is its square root in NumPy, which differs for minus zero and minus infinity.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba import types as nb
from numba.core.imputils import Registry
from numba.np import ufunc_db
from numba.np.numpy_support import as_dtype

from pykernels.kernel.emit import target
from pykernels.kernel.emit.vector_operations import OPERATIONS
from pykernels.kernel.emit.vector_writer import Writer

__all__ = ["registry", "ufunc_loops"]

registry = Registry("pykernels operations")

# By NumPy's names: what is computed, and the operators that compute it for two numbers.
_OPERATORS: Mapping[str, tuple[Callable[..., Any], ...]] = {
    "floor_divide": (operator.floordiv, operator.ifloordiv),
    "remainder": (operator.mod, operator.imod),
    "divmod": (divmod,),
    "fmod": (),
    "left_shift": (operator.lshift, operator.ilshift),
    "right_shift": (operator.rshift, operator.irshift),
    "sign": (),
    "add": (operator.add, operator.iadd),
    "subtract": (operator.sub, operator.isub),
    "multiply": (operator.mul, operator.imul),
    "negative": (operator.neg,),
}
# Those of integers alone. numba promises LLVM that its sums, differences and products never overflow, and LLVM then
# leaves out the checks of indices that are made of them.
_OF_INTEGERS = {"left_shift", "right_shift", "add", "subtract", "multiply", "negative"}


def ufunc_loops(ufunc: np.ufunc) -> Mapping[str, Any]:
    """What computes an element of a universal function, by its types, as numba keeps them: ``{"ll->l": ...}``."""
    loops: Mapping[str, Any] = ufunc_db.get_ufunc_info(ufunc)
    if ufunc.__name__ not in _OPERATORS:
        return loops
    emit, ours = _emitter(ufunc.__name__), set("bBhHiIlLqQ->" if ufunc.__name__ in _OF_INTEGERS else "bBhHiIlLqQfd->")
    return {types: emit if set(types) <= ours else loop for types, loop in loops.items()}


def _emitter(name: str) -> Callable[..., Any]:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        returned = signature.return_type
        type_ = returned.dtype if isinstance(returned, nb.UniTuple) else returned
        operands = [context.cast(builder, *each, type_) for each in zip(arguments, signature.args)]
        writer = Writer(builder.module, 1, target.instruction_set())
        writer.builder = builder
        if name != "divmod":
            return OPERATIONS[name](writer, as_dtype(type_), *operands)
        both = (OPERATIONS[each](writer, as_dtype(type_), *operands) for each in ("floor_divide", "remainder"))
        return context.make_tuple(builder, returned, tuple(both))

    return emit


def _power(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    def power(x: Any, exponent: Any) -> Any:
        return np.sqrt(x) if exponent == 0.5 else np.power(x, exponent)

    return context.compile_internal(builder, power, signature, arguments)


def _power_in_place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    def power(x: Any, exponent: Any) -> Any:
        if exponent == 0.5:
            np.sqrt(x, x)
        else:
            np.power(x, exponent, x)
        return x

    return context.compile_internal(builder, power, signature, arguments)


registry.lower(operator.pow, nb.Array, nb.Float)(_power)
registry.lower(operator.ipow, nb.Array, nb.Float)(_power_in_place)
for _name, _functions in _OPERATORS.items():
    for _function in _functions:
        for _type in (nb.Integer,) if _name in _OF_INTEGERS else (nb.Integer, nb.Float):
            registry.lower(_function, *[_type] * (1 if _name == "negative" else 2))(_emitter(_name))
