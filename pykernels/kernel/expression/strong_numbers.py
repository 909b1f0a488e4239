"""Find NumPy numbers, such as ``np.sqrt(2)``: they have a dtype, so since NumPy 2 they widen arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pykernels.base.python_files import SOURCE
from pykernels.kernel.expression import promotion
from pykernels.kernel.read.source import KernelFunction


def find_strong_number(kernel: KernelFunction, dtype: np.dtype) -> str:
    """Return the source of the first number of that dtype in a kernel or its helpers, or an empty string."""
    functions: list[Callable[..., Any]] = [kernel.function, *kernel.helpers]
    for function in functions:
        definition = promotion.definition_of(function)
        for node in ast.walk(definition) if definition else ():
            value = _value(node, function.__globals__) if isinstance(node, (ast.Name, ast.Call)) else None
            if isinstance(value, np.number) and value.dtype == dtype:
                # Not what stands for it after constants have become numbers.
                return ast.get_source_segment(function.__globals__[SOURCE].decode(), node) or ast.unparse(node)
    return ""


def _value(node: ast.Name | ast.Call, namespace: Mapping[str, Any]) -> Any:
    """Evaluate an expression that only calls NumPy functions on literals and numbers at the top level of the file."""
    if not all(_is_numpys(call.func, namespace) for call in ast.walk(node) if isinstance(call, ast.Call)):
        return None
    try:
        with np.errstate(all="ignore"):
            return eval(compile(ast.Expression(node), "<number>", "eval"), dict(namespace))
    except Exception:  # it depends on the kernel's arguments
        return None


def _is_numpys(called: ast.expr, namespace: Mapping[str, Any]) -> bool:
    if not (isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name)):
        return False
    function = getattr(namespace.get(called.value.id), called.attr, None)
    return isinstance(function, np.ufunc) or (isinstance(function, type) and issubclass(function, np.number))
