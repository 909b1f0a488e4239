"""What takes longer on large arrays when numba compiles it than when NumPy runs it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from pykernels.kernel import weak
from pykernels.kernel.source import KernelFunction

__all__ = ["find_slower"]

# Measured at a million elements, on one thread: numba took 1.8 to 6 times as long.
_FUNCTIONS = frozenset(("sort", "argsort", "unique", "diff", "roll", "transpose", "swapaxes"))


def find_slower(kernel: KernelFunction) -> str:
    """The first such part of a kernel or of the functions that it may call, as ``file:line: what``; or nothing."""
    functions: list[Callable[..., Any]] = [kernel.function, *kernel.helpers]
    for function in functions:
        definition = weak.definition_of(function)
        for node in ast.walk(definition) if definition else ():
            name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
            if name in _FUNCTIONS:
                return f"{kernel.path.name}:{getattr(node, 'lineno', 0)}: {name}"
    return ""
