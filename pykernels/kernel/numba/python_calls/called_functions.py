"""The functions of NumPy and SciPy that compiled kernels may call as Python, and those that they must."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from itertools import product
from typing import Any

import numpy as np
from numba import types as nb

from pykernels.kernel.facts import name_of
from pykernels.kernel.numba import cures, implementing
from pykernels.kernel.numba.numba_errors import is_vague, reason_of

# The packages whose functions may be called, and the names in them that read or write files or change settings.
_PACKAGES = ("numpy", "scipy")
_REFUSED_MODULES = ("numpy.testing", "numpy.ctypeslib", "numpy.f2py", "numpy.distutils", "scipy.io", "scipy.datasets")
_REFUSED = {"load", "info", "lookfor", "source", "memmap", "test", "byte_bounds", "frombuffer", "getbufsize"}
_REFUSED |= {"block"}  # takes lists, which are tuples in compiled code
_REFUSED |= {"seed", "shuffle", "copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "show_config"}
# They take functions, or concern files and settings.
_REFUSED_BEGINNINGS = (
    "_",
    "apply_",
    "from",
    "piecewise",
    "save",
    "load",
    "set",
    "get_",
    "gen",
    "open",
    "show",
    "print",
    "deprecate",
)
# Methods that change their array, or return no array.
_REFUSED_METHODS = {"byteswap", "dump", "dumps", "fill", "itemset", "newbyteorder", "partition", "put", "resize"}
_REFUSED_METHODS |= {"setfield", "setflags", "sort", "tobytes", "tofile", "tolist", "tostring", "view"}

# For large integers, numba's versions compute in floating point in another order than NumPy.
_OTHER_FOR_INTEGERS = {"numpy:histogram", "numpy:unwrap"}
# numba's versions need LAPACK, or have random numbers of their own.
_OTHER_IN = ("numpy.linalg:", "numpy.random:")
_OF_LAPACK = {"numpy:roots"}


def find_path(function: Any) -> str:
    """Return where a function of NumPy or SciPy is found (``"numpy.fft:fft"``); empty if it must not be called."""
    name = getattr(function, "__name__", "")
    if getattr(np.ndarray, name, None) is function:
        return "" if name in _REFUSED_METHODS or name.startswith("_") else f"numpy:ndarray.{name}"
    if not name or name in _REFUSED or name.startswith(_REFUSED_BEGINNINGS):
        return ""
    if isinstance(function, np.ufunc):
        homes = ["numpy", "scipy.special"]
    else:
        home = getattr(function, "__module__", None) or ("numpy.random" if hasattr(function, "__self__") else "")
        names = home.split(".")
        homes = [".".join(names[:end]) for end in range(1, len(names) + 1)]
    for module, shown in product(homes, (name.rstrip("_"), name)):  # NumPy 1 calls `round` ``round_``
        is_of_ours = module.partition(".")[0] in _PACKAGES and not module.startswith(_REFUSED_MODULES)
        # A method, such as `np.random.rand`, is made anew whenever it is looked up.
        if is_of_ours and getattr(sys.modules.get(module), shown, None) in (function,):
            return f"{module}:{shown}"
    return ""


def is_other(path: str, function: Callable[..., Any], types: Sequence[nb.Type]) -> bool:
    """Whether numba's version of a function gives other values than NumPy, or needs what kernels lack."""
    if function in implementing.implemented:
        return False
    has_integers = any(isinstance(getattr(each, "dtype", each), nb.Integer) for each in types)
    return path in _OF_LAPACK or path.startswith(_OTHER_IN) or (has_integers and path in _OTHER_FOR_INTEGERS)


def reason_for(path: str, function: Callable[..., Any], keywords: Collection[str], problem: Exception | None) -> str:
    """Return why a call with these keywords is left to Python, and what to write instead."""
    parameters = implementing.implemented.get(function, keywords)
    other = next((name for name in keywords if name not in parameters), None)
    if other is not None:
        reason = f"its argument {other!r} is not compiled"
    elif problem is not None:
        reason = reason_of(problem)
        reason = "it is not compiled for these arguments" if is_vague(reason) else reason
    elif path in _OTHER_FOR_INTEGERS:
        reason = f"numba's {name_of(path)} is not NumPy's for these arrays"
    else:
        reason = "it is not compiled"
    return f"{reason}; {cures.for_call(path)}"
