"""The one list of functions that compiled kernels may call, by what keeps them within their arrays.

numba emits the listed functions as LLVM IR. All other functions that it supports are Python code, which is compiled
with checks of all indices (`target.compile_function`), except for `TRUSTED`. A kernel that needs an IR function outside
this list runs as Python.
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

#: Modules of Python functions whose indices always lie within the given array, and that would be much slower with
#: checks.
TRUSTED = frozenset({"numba.misc.quicksort", "numba.misc.mergesort", "numba.misc.timsort"})

# Functions of numbers and flags, which use no memory. Divisions and shifts are ours, see `numpy_operations`.
_NUMBERS = {
    *(abs, bool, complex, divmod, float, pow, round, type, slice, range, len),
    *(value for module in (math, cmath) for value in vars(module).values() if callable(value)),
    *("complex.conjugate", "number.item", "slice.indices", "not in"),
    *(operator.is_, operator.is_not, operator.not_, operator.contains, nb.NumberClass, nb.TypeRef),
}
# Functions that read the elements of their operands and write to a new array of the broadcast shape. If they write to a
# given array, `given_outputs` compares the shapes first. On numbers they use no memory.
_ELEMENTWISE = {
    *(value for value in vars(np).values() if isinstance(value, np.ufunc)),
    *(value for name, value in vars(operator).items() if isinstance(value, types.BuiltinFunctionType)),
} - {operator.getitem, operator.setitem, operator.delitem}
# Functions that compare an index with the length and raise `IndexError`: numba's for arrays, tuples and lists, and ours
# for ``x.flat`` (`flat`) and in loops (`bounds`).
_CHECKED = {operator.getitem, operator.setitem, operator.delitem, "static_getitem", "static_setitem", "typed_getitem"}
_CHECKED |= {"list.pop", "array.item", "array.itemset", next}
# Functions that visit all elements, or make a copy or a view of them. A view of another shape or dtype requires the
# same number of bytes.
_WHOLE = {
    *("array.argsort", "array.astype", "array.copy", "array.flatten", "array.nonzero", "array.ravel", "array.reshape"),
    *("array.sort", "array.transpose", "array.view", "getiter", "iternext"),
    *(np.argsort, np.ndenumerate, np.ndindex, np.nditer, np.nonzero, np.ravel, numba.prange, pndindex),
    *(builtins.iter, enumerate, zip, tuple, list, set, dict),
    *("list.append", "list.clear", "list.extend", "list.insert", "set.add", "set.update"),
    *("print_item", print, nb.NamedTupleClass),
}
# numba's own functions call these with valid sizes.
_WHOLE |= {IndexValue, reshape_unchecked}
_LISTED = _NUMBERS | _ELEMENTWISE | _CHECKED | _WHOLE


def check(function: Any) -> None:
    """Refuse a function that numba writes in LLVM IR unless it is listed.

    Raises
    ------
    UnsupportedError
        numba's error, with the reason.
    """
    if function not in _LISTED:
        raise errors.UnsupportedError(f"{getattr(function, '__name__', function)} is not known to keep to its arrays")
