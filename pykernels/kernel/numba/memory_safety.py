"""How every function that a compiled kernel may call keeps to the memory of its arrays: the one list.

numba writes what is listed here in LLVM IR itself. All else that it knows is Python code, which is compiled with checks
of all indices (`target.compile_function`), but for `TRUSTED`. What is on neither list is not compiled: the kernel runs
as Python.
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator
import types
from typing import Any

import numba
import numpy as np
from numba import types as nb
from numba.core import errors
from numba.core.typing.builtins import IndexValue
from numba.misc.special import pndindex
from numba.np.arrayobj import reshape_unchecked

__all__ = ["TRUSTED", "check"]

#: Modules whose functions in Python compute only indices that lie within the array that they are given, and which would
#: take much longer with checks.
TRUSTED = frozenset({"numba.misc.quicksort", "numba.misc.mergesort", "numba.misc.timsort"})

# Numbers and flags alone: no memory. Divisions and shifts are ours, see `numpy_operations`.
_NUMBERS = {
    *(abs, bool, complex, divmod, float, pow, round, type, slice, range, len),
    *(value for module in (math, cmath) for value in vars(module).values() if callable(value)),
    *("complex.conjugate", "number.item", "slice.indices", "not in"),
    *(operator.is_, operator.is_not, operator.not_, operator.contains, nb.NumberClass, nb.TypeRef),
}
# They read as many elements as their operands have, and write to a new array of the shape that these are broadcast to.
# Where an array is given to write to, `given_outputs` compares the shapes first. Between numbers they use no memory.
_ELEMENTWISE = {
    *(value for value in vars(np).values() if isinstance(value, np.ufunc)),
    *(value for name, value in vars(operator).items() if isinstance(value, types.BuiltinFunctionType)),
} - {operator.getitem, operator.setitem, operator.delitem}
# They compare an index with the length, and raise `IndexError`: numba's own for arrays, tuples and lists, and ours for
# ``x.flat`` (`flat`) and in loops (`bounds`).
_CHECKED = {operator.getitem, operator.setitem, operator.delitem, "static_getitem", "static_setitem", "typed_getitem"}
_CHECKED |= {"list.pop", "array.item", "array.itemset", next}
# They go from the first element to the last, or make a copy or a view of the elements that there are; a view of another
# shape or dtype is made only if it has as many bytes.
_WHOLE = {
    *("array.argsort", "array.astype", "array.copy", "array.flatten", "array.nonzero", "array.ravel", "array.reshape"),
    *("array.sort", "array.transpose", "array.view", "getiter", "iternext"),
    *(np.argsort, np.ndenumerate, np.ndindex, np.nditer, np.nonzero, np.ravel, numba.prange, pndindex),
    *(builtins.iter, enumerate, zip, tuple, list, set, dict),
    *("list.append", "list.clear", "list.extend", "list.insert", "set.add", "set.update"),
    *("print_item", print, nb.NamedTupleClass),
}
# numba's own functions call them, with sizes that fit.
_WHOLE |= {IndexValue, reshape_unchecked}
_LISTED = _NUMBERS | _ELEMENTWISE | _CHECKED | _WHOLE


def check(function: Any) -> None:
    """Refuse a function that numba writes in LLVM IR unless it is listed.

    Raises
    ------
    UnsupportedError
        numba's, with the reason.
    """
    if function not in _LISTED:
        raise errors.UnsupportedError(f"{getattr(function, '__name__', function)} is not known to keep to its arrays")
