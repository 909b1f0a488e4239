"""What takes longer on large arrays when numba compiles it than when NumPy runs it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from pykernels.kernel import weak
from pykernels.kernel.source import KernelFunction

__all__ = ["find_slower"]

# From how many elements on NumPy is faster, although it takes some ten microseconds to get there. Measured on one
# thread: numba takes up to 6 times as long for the first, up to 3 times for the others.
_LARGE, _LARGER = 1 << 14, 1 << 18
_FUNCTIONS = {
    **dict.fromkeys(("sort", "argsort", "partition", "argpartition", "unique", "percentile", "quantile"), _LARGE),
    **dict.fromkeys(("diff", "roll", "transpose", "swapaxes"), _LARGE),
    **dict.fromkeys(("nonzero", "flatnonzero", "argwhere", "delete", "cov", "corrcoef", "cross", "diag"), _LARGER),
    **dict.fromkeys(("flip", "fliplr", "flipud", "stack", "column_stack", "dstack"), _LARGER),
}


def find_slower(kernel: KernelFunction) -> tuple[str, int]:
    """What NumPy does faster on large arrays in a kernel or in the functions that it may call.

    Returns
    -------
    what : str
        ``file:line: what``; empty if there is nothing.
    elements : int
        From how many elements of its largest array on.
    """
    functions: list[Callable[..., Any]] = [kernel.function, *kernel.helpers]
    found = []
    for function in functions:
        definition = weak.definition_of(function)
        for node in ast.walk(definition) if definition else ():
            what, elements = _slower(node, takes_outs=kernel.takes_outs)
            if what:
                found.append((f"{kernel.path.name}:{getattr(node, 'lineno', 0)}: {what}", elements))
    return min(found, key=lambda each: each[1], default=("", 0))


def _slower(node: ast.AST, *, takes_outs: bool) -> tuple[str, int]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        takes_rows = name == "take" and (len(node.args) > 2 or any(keyword.arg == "axis" for keyword in node.keywords))
        finds_places = name == "where" and len(node.args) == 1
        if takes_rows or finds_places:
            return name, _LARGER
        return (name, _FUNCTIONS[name]) if name in _FUNCTIONS else ("", 0)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    # What a result is put together in is copied once more.
    is_part = any(isinstance(target, ast.Subscript) and _is_part(target.slice) for target in targets)
    return ("an assignment to a part", _LARGER) if is_part and not takes_outs else ("", 0)


def _is_part(index: ast.expr) -> bool:
    """Whether an index is of some slices with ends, or of one element of an axis beside slices."""
    slices = [node for node in ast.walk(index) if isinstance(node, ast.Slice)]
    return bool(slices) and (isinstance(index, ast.Tuple) or any(node.lower or node.upper for node in slices))
