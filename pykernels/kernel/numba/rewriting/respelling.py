"""Spell calls as numba can type them.

``x.clip(min=0)`` becomes ``np.clip(x, 0, None)``, in which the bounds are operands as in other functions. Arrays that
a function takes one by one become one tuple: ``np.meshgrid(x, y, indexing="ij")``, ``np.ix_(rows, columns)``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from pykernels.kernel.expression.call_arguments import clip_operands

#: The name of NumPy in the changed definition.
MODULE = "__pykernels_np__"
#: The functions that another one takes the place of, whose name in the changed definition this is.
REPLACED: dict[Any, str] = {np.meshgrid: "__pykernels_grids__", np.ix_: "__pykernels_open_grid__"}


def respell(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> ast.FunctionDef:
    """Change `definition`; return it."""
    respelled = _Respeller(namespace).visit(definition)
    assert isinstance(respelled, ast.FunctionDef)
    return respelled


class _Respeller(ast.NodeTransformer):
    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute):
            return node
        owner, name = node.func.value, node.func.attr
        module = self._namespace.get(owner.id) if isinstance(owner, ast.Name) else None
        is_numpys = module is np
        replacement = REPLACED.get(getattr(np, name, np)) if is_numpys else None
        if replacement:
            arrays = ast.Tuple(node.args, ast.Load())
            return ast.copy_location(ast.Call(ast.Name(replacement, ast.Load()), [arrays], node.keywords), node)
        if name == "clip" and (is_numpys or not isinstance(module, ModuleType)):
            return _clip(node, node.args if is_numpys else [owner, *node.args])
        return node


def _clip(node: ast.Call, operands: list[ast.expr]) -> ast.Call:
    """Return a call of `np.clip` with two bounds; the same node if it has other arguments."""
    found = clip_operands(operands, {str(each.arg): each.value for each in node.keywords})
    if found is None or any(isinstance(each, ast.Starred) for each in operands):
        return node
    arguments = [each or ast.Constant(None) for each in found]
    function = ast.Attribute(ast.Name(MODULE, ast.Load()), "clip", ast.Load())
    return ast.copy_location(ast.Call(function, arguments, []), node)
