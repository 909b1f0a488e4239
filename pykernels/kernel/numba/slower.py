"""Find operations that numba compiles to code that is slower than NumPy on large arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from pykernels.kernel.expression import promotion
from pykernels.kernel.read.source import KernelFunction

# The numbers of elements from which NumPy is faster, although calling it takes some ten microseconds. Measured on one
# thread: numba takes up to 2.5 times as long for the first, up to 4 times for the others.
_LARGE, _LARGER = 1 << 14, 1 << 18
_FUNCTIONS = {
    **dict.fromkeys(("sort", "argsort", "partition", "argpartition", "unique"), _LARGE),
    **dict.fromkeys(("percentile", "quantile", "nonzero", "flatnonzero", "argwhere", "cross"), _LARGER),
}


def find_slower(kernel: KernelFunction) -> tuple[str, int]:
    """Find what NumPy does faster on large arrays in a kernel or in the functions that it may call.

    Returns
    -------
    what : str
        ``file:line: what``; empty if there is nothing.
    elements : int
        The number of elements of the kernel's largest array from which NumPy is faster.
    """
    functions: list[Callable[..., Any]] = [kernel.function, *kernel.helpers]
    found = []
    for function in functions:
        definition = promotion.definition_of(function)
        for node in ast.walk(definition) if definition else ():
            what, elements = _slower(node)
            if what:
                found.append((f"{kernel.path.name}:{getattr(node, 'lineno', 0)}: {what}", elements))
    return min(found, key=lambda each: each[1], default=("", 0))


def _slower(node: ast.AST) -> tuple[str, int]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return "", 0
    name = node.func.attr
    finds_places = name == "where" and len(node.args) == 1
    return name if finds_places or name in _FUNCTIONS else "", _LARGER if finds_places else _FUNCTIONS.get(name, 0)
