"""Separate in-place operations from operands in the memory that they change: ``x[1:] += x[:-1]``.

NumPy computes as if the operand had been copied before; numba works element by element. So the compiled code copies an
operand that turns out to be a view of the changed array.
"""

from __future__ import annotations

import ast

from pykernels.kernel.expression.promotion import APART


def separate(definition: ast.FunctionDef) -> ast.FunctionDef:
    """Separate the operands of a function's in-place operations from what these change."""
    separated = _Separator().visit(definition)
    assert isinstance(separated, ast.FunctionDef)
    return separated


class _Separator(ast.NodeTransformer):
    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        root: ast.AST = node.target
        while isinstance(root, (ast.Subscript, ast.Attribute)):
            root = root.value
        if _may_be_view(node.value) and isinstance(root, ast.Name) and not _is_same(node.target, node.value):
            arguments = [node.value, ast.Name(root.id, ast.Load())]
            node.value = ast.copy_location(ast.Call(ast.Name(APART, ast.Load()), arguments, []), node.value)
        return node


def _may_be_view(value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):
        return _may_be_view(value.body) or _may_be_view(value.orelse)
    return isinstance(value, (ast.Name, ast.Subscript, ast.Attribute, ast.Call))


def _is_same(target: ast.expr, value: ast.expr) -> bool:
    """Whether both expressions denote the same elements in the same order."""
    return ast.unparse(target) == ast.unparse(value)
