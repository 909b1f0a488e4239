"""Let numba see the values of tuples in calls, such as ``axis=(0, 1)``: it knows numbers, but of tuples only the types.

A tuple that is built from variables has the types of these, and the type of a variable that is set once, to a number,
holds the number. So ``np.sum(x, axis=(0, 1))`` becomes ``np.sum(x, axis=(n0, n1))``, after ``n0 = 0`` and ``n1 = 1``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from pykernels.kernel.expression.promotion import NUMBER


def expose(definition: ast.FunctionDef, values: Mapping[str, Any]) -> ast.FunctionDef:
    """Change `definition`: build the constant tuples in its calls from variables; return it.

    Parameters
    ----------
    values : mapping
        The values of parameters that are compiled in.
    """
    stored = {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    exposer = _Exposer({name: value for name, value in values.items() if name not in stored})
    definition = exposer.visit(definition)
    definition.body[:0] = [
        ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), definition.body[0])
        for name, value in exposer.variables.items()
    ]
    return definition


class _Exposer(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.variables: dict[str, int] = {}

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.args = [self._exposed(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self._exposed(keyword.value)
        return node

    def _exposed(self, node: ast.expr) -> ast.expr:
        value = self._values.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(value, (tuple, list)):
            node = ast.copy_location(ast.parse(repr(tuple(value)), mode="eval").body, node)
        return self._built(node) if isinstance(node, ast.Tuple) else node

    def _built(self, node: ast.expr) -> ast.expr:
        """Return a tuple whose numbers are variables."""
        if isinstance(node, ast.Tuple):
            node.elts = [self._built(element) for element in node.elts]
            return node
        try:
            value = ast.literal_eval(node)
        except ValueError:
            return node
        if not isinstance(value, int):
            return node
        name = f"{NUMBER}{value}".replace("-", "_")
        self.variables[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), node)
