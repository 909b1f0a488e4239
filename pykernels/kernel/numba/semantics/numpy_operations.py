"""Replace operations on elements where numba's own differ from NumPy's, or trap.

The emitters of fused kernels write them. numba's own operations end the process for the smallest integer divided by -1,
for example. In NumPy an array to the power of 0.5 is its square root, which differs for minus zero and minus infinity.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import types as nb
from numba.core.imputils import Registry
from numba.np import ufunc_db
from numba.np.numpy_support import as_dtype, from_dtype, ufunc_find_matching_loop

from pykernels.kernel.emit import target
from pykernels.kernel.emit.vector_operations import EMITTERS
from pykernels.kernel.emit.vector_writer import Writer
from pykernels.kernel.expression.operations import OPERATIONS, Loops
from pykernels.kernel.numba.semantics.numpy_numbers import python_function

registry = Registry("pykernels operations")

_OURS = {name: row for name, row in OPERATIONS.items() if row.loops is not Loops.NUMBA}
_UFUNCS = {row.operators[0]: getattr(np, name) for name, row in OPERATIONS.items() if row.operators}


def in_numpys_dtype(function: nb.Type, signature: Any) -> Any:
    """Return numba's signature of a call with NumPy's dtype: numba combines int64 and float32 in float32."""
    called = python_function(function)
    ufunc = called if isinstance(called, np.ufunc) else _UFUNCS.get(called)
    if signature is None or ufunc is None:
        return signature
    types = signature.args
    dtypes = [getattr(each, "dtype", each) for each in types]
    are_alike = len({isinstance(each, nb.Array) for each in types}) == 1
    if not are_alike or len(types) != ufunc.nin or not _are_mixed(dtypes):
        return signature
    samples = (np.ones((1,) * getattr(each, "ndim", 0), as_dtype(dtype)) for each, dtype in zip(types, dtypes))
    wanted, result = np.result_type(*samples), signature.return_type
    if f"{wanted.char * ufunc.nin}->{wanted.char}" not in ufunc.types:
        return signature
    dtype = from_dtype(wanted)
    return signature.replace(return_type=result.copy(dtype=dtype) if isinstance(result, nb.Array) else dtype)


def ufunc_loop(ufunc: np.ufunc, types: tuple[nb.Type, ...]) -> Any:
    """Return what numba knows of the loop that computes elements of these types, given and made, in NumPy."""
    given, made = types[: ufunc.nin], types[ufunc.nin :]
    if _are_mixed(given):
        common = from_dtype(np.result_type(*map(as_dtype, given)))
        found = ufunc_find_matching_loop(ufunc, (common,) * ufunc.nin + made)
        if found is not None and tuple(found.outputs) == made:
            return found
    return ufunc_find_matching_loop(ufunc, types)


def _are_mixed(types: Sequence[nb.Type]) -> bool:
    """Whether some types are of whole numbers and all others of floating-point numbers, real or complex."""
    kinds = {as_dtype(each).kind for each in types if isinstance(each, nb.Number)}
    return all(isinstance(each, nb.Number) for each in types) and bool(kinds & {*"iu"}) and bool(kinds & {*"fc"})


def ufunc_loops(ufunc: np.ufunc) -> Mapping[str, Any]:
    """Return the functions that compute an element of a ufunc, by types in numba's form: ``{"ll->l": ...}``."""
    loops: Mapping[str, Any] = ufunc_db.get_ufunc_info(ufunc)
    name = ufunc.__name__
    if ufunc is np.spacing:
        return {types: _of_positive_zeros(loop) for types, loop in loops.items()}
    if name not in _OURS and ufunc is not np.divmod:
        return loops
    of_reals = "" if name in _OURS and _OURS[name].loops is Loops.OURS_FOR_INTEGERS else "fd"
    emit, ours = _emitter(name), set(f"bBhHiIlLqQ{of_reals}->")
    return {types: emit if set(types) <= ours else loop for types, loop in loops.items()}


def _of_positive_zeros(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Return a loop over one operand that computes the same for -0.0 as for 0.0."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (x,) = arguments
        return loop(context, builder, signature, [builder.fadd(x, x.type(0))])

    return emit


def writer_of(builder: ir.IRBuilder) -> Writer:
    """Return our writer at the position of numba's builder."""
    writer = Writer(builder.module, 1, target.instruction_set())
    writer.builder = builder
    return writer


def _emitter(name: str) -> Callable[..., Any]:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        returned = signature.return_type
        type_ = returned.dtype if isinstance(returned, nb.UniTuple) else returned
        operands = [context.cast(builder, *each, type_) for each in zip(arguments, signature.args)]
        writer = writer_of(builder)
        if name != "divmod":
            return EMITTERS[name](writer, as_dtype(type_), *operands)
        both = (EMITTERS[each](writer, as_dtype(type_), *operands) for each in ("floor_divide", "remainder"))
        return context.make_tuple(builder, returned, tuple(both))

    return emit


def _power(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    def power(x: Any, exponent: Any) -> Any:
        return np.sqrt(x) if exponent == 0.5 else np.power(x, exponent)

    def widened(x: Any, exponent: Any) -> Any:
        return np.power(x, exponent)

    # The square root has the dtype of an array, not that of a wider exponent.
    given, made = signature.args[0].dtype, signature.return_type.dtype
    chosen = widened if isinstance(given, nb.Float) and given != made else power
    return context.compile_internal(builder, chosen, signature, arguments)


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
for _type in (nb.Integer, nb.Float):
    registry.lower(divmod, _type, _type)(_emitter("divmod"))
    for _name, _row in _OURS.items():
        if _type is nb.Integer or _row.loops is Loops.OURS:
            for _function in _row.operators:
                registry.lower(_function, *[_type] * (1 if _name == "negative" else 2))(_emitter(_name))
