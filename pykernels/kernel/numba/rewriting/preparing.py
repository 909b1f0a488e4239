"""Prepare the definition of a kernel for numba: what it raises, and operands in memory that a statement changes.

An exception becomes a signal that one occurred; the plain NumPy run raises the real one. ``raise ValueError(f"row {i}
of {n}")`` becomes ``raise Exception``: compiling the message would take longer than compiling most kernels, and numba
does not support the user's classes.

Of ``x[1:] += x[:-1]``, NumPy computes as if the operand had been copied before; numba works element by element. So the
compiled code copies an operand that turns out to be a view of the changed array.

``np.matmul(x, y)`` becomes ``x @ y``: numba computes other calls of universal functions element by element. In calls of
these, numba takes the array to write to by position, not as ``out=``.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import Any

import numpy as np

from pykernels.kernel.expression.promotion import APART


def prepare(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> ast.FunctionDef:
    """Change `definition`: a bare ``Exception`` replaces every exception, and `APART` separates operands; return it."""
    prepared = _Preparer(namespace).visit(definition)
    assert isinstance(prepared, ast.FunctionDef)
    return prepared


class _Preparer(ast.NodeTransformer):
    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if isinstance(raised, ast.Name):
            value = self._namespace.get(raised.id, getattr(builtins, raised.id, None))
            if isinstance(value, type) and issubclass(value, Exception):
                node.exc, node.cause = ast.copy_location(ast.Name("Exception", ast.Load()), raised), None
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        node.msg = None
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        called = node.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            function = getattr(self._namespace.get(called.value.id), called.attr, None)
        else:
            function = self._namespace.get(called.id) if isinstance(called, ast.Name) else None
        if isinstance(function, np.ufunc) and len(node.args) == function.nin and function is not np.matmul:
            if [each.arg for each in node.keywords] == ["out"] and not isinstance(node.keywords[0].value, ast.Tuple):
                node.args, node.keywords = [*node.args, node.keywords[0].value], []
            return node
        if function is not np.matmul or len(node.args) != 2 or node.keywords:
            return node
        return ast.copy_location(ast.BinOp(node.args[0], ast.MatMult(), node.args[1]), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        root: ast.AST = node.target
        while isinstance(root, (ast.Subscript, ast.Attribute)):
            root = root.value
        is_same = ast.unparse(node.target) == ast.unparse(node.value)  # the same elements in the same order
        if _may_be_view(node.value) and isinstance(root, ast.Name) and not is_same:
            arguments = [node.value, ast.Name(root.id, ast.Load())]
            node.value = ast.copy_location(ast.Call(ast.Name(APART, ast.Load()), arguments, []), node.value)
        return node


def _may_be_view(value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):
        return _may_be_view(value.body) or _may_be_view(value.orelse)
    return isinstance(value, (ast.Name, ast.Subscript, ast.Attribute, ast.Call))
