"""Let numba see the arguments of calls: the values of tuples, the members of lists, and Python's names of dtypes.

numba knows the values of numbers, but of tuples only the types. A tuple that is built from variables has the types of
these, and the type of a variable that is set once, to a number, holds the number. So ``np.sum(x, axis=(0, 1))`` becomes
``np.sum(x, axis=(n0, n1))``, after ``n0 = 0`` and ``n1 = 1``.

In calls of NumPy's functions and methods, ``[x, y]`` becomes ``(x, y)``, whose members may have types of their own, and
``bool`` becomes ``np.bool_``, which numba takes as a dtype.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from pykernels.kernel.expression.promotion import NUMBER
from pykernels.kernel.numba.rewriting import outlining

_DTYPE = "__pykernels_dtype_"
#: Names in the changed definition, and the dtypes that they stand for.
DTYPES: Mapping[str, Any] = {f"{_DTYPE}{each.__name__}": np.dtype(each).type for each in (bool, int, float, complex)}
# These take long lists of numbers, and numba compiles a tuple of many numbers for long.
_OF_LISTS = {"array", "asarray"}


def expose(definition: ast.FunctionDef, namespace: Mapping[str, Any], values: Mapping[str, Any]) -> ast.FunctionDef:
    """Change `definition`: build the constant tuples in its calls from variables, and lists as tuples; return it.

    Parameters
    ----------
    namespace : mapping
        The globals of the function.
    values : mapping
        The values of parameters that are compiled in.
    """
    stored = outlining.stored(definition)
    own = stored | {n.arg for n in ast.walk(definition) if isinstance(n, ast.arg)}
    found = {name: value for name, value in (vars(builtins) | dict(namespace)).items() if name not in own}
    exposer = _Exposer(found, {name: value for name, value in values.items() if name not in stored})
    definition = exposer.visit(definition)
    definition.body[:0] = [
        ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), definition.body[0])
        for name, value in exposer.variables.items()
    ]
    return definition


class _Exposer(ast.NodeTransformer):
    def __init__(self, namespace: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._values = values
        self.variables: dict[str, int] = {}

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        is_numpys = self._is_numpys(node.func)
        node.args = [self._exposed(argument, is_numpys) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self._exposed(keyword.value, is_numpys)
        return node

    def _is_numpys(self, function: ast.expr) -> bool:
        """Whether a call is one of NumPy's functions or of an array's methods, which take lists as they take tuples."""
        if not isinstance(function, ast.Attribute) or function.attr in _OF_LISTS:
            return False
        root = function.value
        while isinstance(root, ast.Attribute):
            root = root.value
        module = self._namespace.get(root.id) if isinstance(root, ast.Name) else None
        if isinstance(module, types.ModuleType):
            return module.__name__.startswith("numpy")
        return hasattr(np.ndarray, function.attr) and not hasattr(list, function.attr)

    def _exposed(self, node: ast.expr, is_numpys: bool) -> ast.expr:
        value = self._values.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(value, (tuple, list)):
            node = ast.copy_location(ast.parse(repr(tuple(value)), mode="eval").body, node)
        if is_numpys:
            node = self._in_tuples(node)
        return self._built(node) if isinstance(node, ast.Tuple) else node

    def _in_tuples(self, node: ast.expr) -> ast.expr:
        """Return an argument with tuples in place of lists, and NumPy's names of dtypes in place of Python's."""
        if isinstance(node, (ast.List, ast.Tuple)) and not any(isinstance(each, ast.Starred) for each in node.elts):
            return ast.copy_location(ast.Tuple([self._in_tuples(each) for each in node.elts], ast.Load()), node)
        name = node.id if isinstance(node, ast.Name) else ""
        if f"{_DTYPE}{name}" in DTYPES and self._namespace.get(name) is getattr(builtins, name):
            return ast.copy_location(ast.Name(f"{_DTYPE}{name}", ast.Load()), node)
        return node

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
