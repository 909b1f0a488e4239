"""Refuse kernels with loops over elements where a framework would trace them, and write every iteration out."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Sequence
from typing import Any

from pykernels.base.errors import KernelError
from pykernels.kernel.read.source import KernelFunction


def refuse_loops(kernel: KernelFunction) -> None:
    """Raise `KernelError` if a kernel has a loop over elements, which a trace would write out."""
    for function in (kernel.function, *kernel.helpers):
        plain: Any = getattr(function, "py_func", function)
        code: types.CodeType = plain.__code__
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
        for node in ast.walk(tree):
            if isinstance(node, ast.While) or (isinstance(node, ast.For) and _is_long(node.iter, kernel.keywords)):
                line = code.co_firstlineno + node.lineno - 1
                raise KernelError(
                    f"{code.co_filename}:{line}: a loop over elements runs on the CPU alone and is not traced; write "
                    f"it with operations on whole arrays"
                )


def _is_long(iterable: ast.expr, attributes: Sequence[str]) -> bool:
    """Whether the number of iterations may depend on the lengths of axes."""
    if not isinstance(iterable, ast.Call) or ast.unparse(iterable.func).split(".")[-1] not in ("range", "prange"):
        return False
    for node in (each for argument in iterable.args for each in ast.walk(argument)):
        is_ndim = isinstance(node, ast.Attribute) and node.attr == "ndim"
        if isinstance(node, (ast.Subscript, ast.Call)) or (isinstance(node, ast.Attribute) and not is_ndim):
            return True
        if isinstance(node, ast.Name) and node.id not in attributes and not _has_ndim(iterable, node):
            return True
    return False


def _has_ndim(tree: ast.expr, name: ast.Name) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == "ndim" and node.value is name for node in ast.walk(tree)
    )
