"""Write which functions of NumPy and SciPy compile into numpy.md: python docs/write_numpy.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import generated
import numpy as np
from scipy import special

from pykernels.kernel.expression import calls, operations, substitutes
from pykernels.kernel.numba import intrinsics
from pykernels.kernel.numba.python_calls import called_functions
from pykernels.kernel.numba.rewriting import respelling
from pykernels.kernel.numba.target import kernel_target

_MODULES = (np, np.linalg, np.fft, special)
_KINDS = ("fused", "compiled", "left to Python", "refused")
# The beginnings of functions that concern dates, text, settings and types rather than numbers.
_LEFT_OUT = re.compile(
    "_|add_|array2|array_repr|array_str|base_repr|binary_repr|busday|compare_char|datetime|deprecate|disp|format_|get_|"
    "getbuf|geterr|info|is_busday|isnat|issc|issub|lookfor|maximum_sctype|mintype|obj2|print|safe_eval|sctype|set_|"
    "setbuf|seterr|show_config|source|test|typename|who"
)
# Some arguments that decide whether a function has a substitute.
_COUNTS = range(1, 5)


def section() -> str:
    """The generated part of the page."""
    lines = []
    for module in _MODULES:
        found: dict[str, list[str]] = {kind: [] for kind in _KINDS}
        for name, function in _functions(module):
            found[kind_of(function)].append(name)
        lines += [f"## {module.__name__}", "", "| | functions |", "|---|---|"]
        lines += [f"| {kind} | {', '.join(f'`{name}`' for name in names) or '-'} |" for kind, names in found.items()]
        lines.append("")
    return "\n".join(lines).rstrip()


def kind_of(function: Any) -> str:
    """Return the fastest form that a kernel with the function can have, for some arguments at least."""
    tables = (calls._ARRAY_FUNCTIONS, operations.LIKE)
    if operations.find(function) or any(operations.look_up(table, function) is not None for table in tables):
        return "fused"
    if any(substitutes.find(function, count) for count in _COUNTS) or function in operations.STATIC:
        return "fused"
    path = called_functions.find_path(function)
    if function in respelling.REPLACED:
        return "compiled"
    if _is_declared(function) and not (path and called_functions.is_other(path, function, ())):
        return "compiled"
    return "left to Python" if path else "refused"


def _is_declared(function: Any) -> bool:
    """Whether numba or we have an implementation."""
    assert intrinsics  # its import declares our functions
    kernel_target.typing_context.refresh()
    try:
        kernel_target.typing_context.resolve_value_type(function)
    except ValueError:
        return False
    return True


def _functions(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in sorted(vars(module)):
        value = getattr(module, name)
        is_function = callable(value) and not isinstance(value, type) and not _LEFT_OUT.match(name)
        if is_function and not isinstance(value, np.vectorize):
            yield name, value


if __name__ == "__main__":
    generated.write(__file__, section())
