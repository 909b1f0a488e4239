"""What to write instead of what is not compiled: one table for calls, one for other code."""

from __future__ import annotations

import re

# By the place of a function, or else by its module.
_CALLS = {
    "numpy.random:": "draw the numbers in the API file and pass them as an input",
    "numpy.fft:": "no faster form is known; call it once for a whole batch",
    "scipy.fft:": "no faster form is known; call it once for a whole batch",
    "numpy.linalg:": "call it once for a whole batch rather than in a loop",
    "scipy.linalg:": "call it once for a whole batch rather than in a loop",
    "numpy:squeeze": "name the axes: np.squeeze(x, axis=0), or x[0]",
    "": "compute it from functions that are compiled (docs/fast_kernels.md), or call it once, not in a loop",
}
# What numba says, and in our words the cause and the cure.
_CODE = (
    (
        r"The use of yield in a closure.*",
        "a generator expression is not compiled; write a list or a loop",
    ),
    (r"Unsupported context manager.*", "`with` is not compiled; leave it out (compiled code gives no warnings)"),
    (r"Illegal IR, del found at: (.*)", r"`\1` is not compiled; leave it out"),
    (r"Use of unsupported opcode \(STORE_GLOBAL\).*", "a global name is assigned; return the value instead"),
    (r"Use of unsupported opcode \(IMPORT_NAME\).*", "an import in a function is not compiled; import at the top"),
    (r"(Cannot unify .* and .*) for .*", r"\1: a name has two types; give each value a name of its own"),
    (r".*Exception matching is limited to.*", "compiled code cannot tell exceptions apart; write `except Exception`"),
    (r"Use of unsupported NumPy function 'numpy.vectorize'.*", "np.vectorize is not compiled; write a loop"),
    (r"Can't unify return type .*: (.*)", r"it returns \1; return the same kind of value everywhere"),
    (r"Untyped global name 'object'.*", "arrays of objects are not compiled; use numbers"),
    (
        r"(.*): can't resolve ufunc .*",
        r"\1: NumPy computes no such dtypes, or not into this array; convert them by `astype`",
    ),
    (
        r"getitem\(.*\): Unsupported array index type (\S+(?:, :\])?) in .*",
        r"an index is \1; use whole numbers, slices, masks, or arrays of these",
    ),
    (r"there is no setitem\(.*, list\(.*", "a list is assigned to elements; make it an array: np.array([...])"),
    (
        r"there is no (\w+\.(?:at|accumulate|outer|reduce|reduceat))\((.*)\)",
        r"\1 is not compiled for \2; write a loop",
    ),
    (r"there is no meshgrid\(.*", "np.meshgrid is compiled for vectors; pass x.ravel()"),
    (r"there is no matmul\((.*)\)", r"@ is not compiled for \1; both operands must be arrays with axes"),
    (r"it needs .*numba_dict_.*", "it makes a dict, which is not compiled; use names or a tuple"),
)


def for_call(path: str) -> str:
    """Return what to write instead of a call of a function of NumPy or SciPy."""
    path = path.replace("ndarray.", "")
    return next(_CALLS[key] for key in (path, path.partition(":")[0] + ":", "") if key in _CALLS)


def in_our_words(reason: str) -> str:
    """Return the cause and the cure for what numba says, or the same text if we know no better."""
    for pattern, words in _CODE:
        if re.fullmatch(pattern, reason):
            return re.sub(pattern, words, reason)
    return reason
