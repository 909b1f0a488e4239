"""Exceptions in compiled code: that there is one is all that it tells, and the plain NumPy run tells the rest.

So ``raise ValueError(f"row {i} of {n}")`` becomes ``raise Exception``: to compile the text would take longer than most
kernels do, and numba knows no classes of the user's.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import Any

__all__ = ["without_texts"]


def without_texts(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> ast.FunctionDef:
    """The function whose exceptions say nothing but that there is one; changes `definition`."""

    class Shorten(ast.NodeTransformer):
        def visit_Raise(self, node: ast.Raise) -> ast.Raise:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if raised is not None and _is_exception(raised, namespace):
                node.exc, node.cause = ast.copy_location(ast.Name("Exception", ast.Load()), raised), None
            return node

        def visit_Assert(self, node: ast.Assert) -> ast.Assert:
            node.msg = None
            return node

    shortened = Shorten().visit(definition)
    assert isinstance(shortened, ast.FunctionDef)
    return shortened


def _is_exception(node: ast.expr, namespace: Mapping[str, Any]) -> bool:
    value = namespace.get(node.id, getattr(builtins, node.id, None)) if isinstance(node, ast.Name) else None
    return isinstance(value, type) and issubclass(value, Exception)
