"""Compile calls of functions that only fused kernels have: each is a fused kernel of its own, wherever it stands.

Of elements, such as ``special.erf(x[i])``, these functions are a few instructions within the kernel.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types as nb
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype, from_dtype

from pykernels.build import linking
from pykernels.kernel.emit.vector_operations import EMITTERS
from pykernels.kernel.expression import operations, promotion, substitutes
from pykernels.kernel.expression.nodes import NotExpressible, operation
from pykernels.kernel.expression.operations import Function
from pykernels.kernel.numba.implementing import compiled, implemented, implements, is_array
from pykernels.kernel.numba.parts.fusing import fuse
from pykernels.kernel.numba.rewriting.outlining import Lines
from pykernels.kernel.numba.semantics.numpy_operations import writer_of

_CALLED, _RESULT = "__pykernels_called__", "__pykernels_result__"


def declare() -> None:
    """Let kernels compile the functions; a kernel that uses SciPy has imported it."""
    _declare("scipy.special" in sys.modules)


@functools.cache
def _declare(has_scipy: bool) -> None:
    for function, substitute in substitutes.table().items():
        if function not in implemented:
            implements(function)(_typing(function, inspect.signature(substitute)))
    implements(np.clip)(_typing(np.clip, inspect.signature(lambda a, a_min, a_max: None)))
    rows = operations.functions_of("scipy.special") if has_scipy else {}
    for function, row in {np.heaviside: operations.find(np.heaviside), **rows}.items():
        names = [f"x{at}" for at in range(function.nin)]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = inspect.Signature([inspect.Parameter(name, kind) for name in names])
        implements(function)(_typing(function, parameters, row))


def _typing(function: Any, parameters: inspect.Signature, row: Function | None = None) -> Callable[..., Any]:
    """Return what chooses the implementation of a function."""

    def choose(*given: Any) -> Any:
        types = dict(zip(parameters.parameters, given))
        if any(map(is_array, given)):
            return _fused(function, types) if linking.find_objcopy() else None
        is_of_numbers = all(isinstance(each, (nb.Integer, nb.Float, nb.Boolean)) for each in given)
        return _of_numbers(row, types) if row and is_of_numbers else None

    choose.__signature__ = parameters  # type: ignore[attr-defined]
    return choose


def along_known_axes(function: Any, types: dict[str, Any], out: Any, where: Any) -> Any:
    """Return the implementation of a reduction, if a fused kernel can reduce the array along these axes, or None.

    numba's loops are slow where the rows are short.

    Parameters
    ----------
    types : dict
        The type of the array, and what is known of the other arguments but `out` and `where`.
    """
    array, *_ = types.values()
    given = {name: each for name, each in types.items() if each is not None}
    if array.ndim < 2 or types["axis"] is None or out is not None or where is not True or not linking.find_objcopy():
        return None
    is_known = sum(isinstance(each, nb.Type) for each in given.values()) == 1
    return _fused(function, given) if is_known else None


def _fused(function: Any, types: dict[str, Any]) -> Any:
    """Return the implementation for arrays."""
    names = [ast.Name(name, ast.Load()) for name in types]
    keywords = [ast.keyword(name.id, name) for name in names]
    count = len(names) if operations.find(function) is not None else 1
    call = ast.Call(ast.Name(_CALLED, ast.Load()), list[ast.expr](names[:count]), keywords[count:])
    statement = ast.Assign([ast.Name(_RESULT, ast.Store())], call, lineno=1)
    definition = ast.FunctionDef("call", ast.arguments([], [], None, [], [], None, []), [statement], [], lineno=1)
    caller = promotion.function_of(definition, {_CALLED: function}, __file__)
    lines = Lines(definition.body, tuple(types), (_RESULT,))
    part = fuse(lines, frozenset(), caller, (), types, fewest=1)
    if part is None:
        return None
    taken = ", ".join(part.taken)
    namespace = {"part": part.caller()}
    exec(f"def call({taken}):\n    return part({taken})[0]", namespace)
    return namespace["call"]


def _of_numbers(row: Function, types: dict[str, Any]) -> Any:
    """Return the implementation for NumPy's numbers."""
    try:
        made = operation(row, [as_dtype(type_).type(1) for type_ in types.values()])
    except NotExpressible:
        return None
    computed, returned = from_dtype(made.dtype), from_dtype(np.asarray(made.sample).dtype)

    @intrinsic
    def emit(typing_context: Any, operands: nb.Type) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            values = [builder.extract_value(arguments[0], at) for at in range(len(operands))]
            values = [context.cast(builder, value, type_, computed) for value, type_ in zip(values, operands)]
            return EMITTERS[made.name](writer_of(builder), made.dtype, *values)

        return returned(operands), generate

    taken = ", ".join(types)
    namespace = {"emit": compiled(lambda operands: emit(operands))}
    exec(f"def call({taken}):\n    return emit(({taken},))", namespace)
    return namespace["call"]
