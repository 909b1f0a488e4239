"""Reduce exceptions in compiled code to a signal that one occurred; the plain NumPy run raises the real one.

``raise ValueError(f"row {i} of {n}")`` becomes ``raise Exception``: compiling the message would take longer than
compiling most kernels, and numba does not support the user's classes.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import Any


def without_texts(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> ast.FunctionDef:
    """Replace every exception in `definition` with a bare ``Exception``; return the changed definition."""

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
