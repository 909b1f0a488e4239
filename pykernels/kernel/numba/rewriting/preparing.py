"""Prepare the definition of a kernel for numba: what it raises, and operands in memory that a statement changes.

An exception becomes a signal that one occurred; the plain NumPy run raises the real one. ``raise ValueError(f"row {i}
of {n}")`` becomes ``raise Exception``: compiling the message would take longer than compiling most kernels, and numba
does not support the user's classes.

Of ``x[1:] += x[:-1]``, NumPy computes as if the operand had been copied before; numba works element by element. So the
compiled code copies an operand that turns out to be a view of the changed array.

``np.matmul(x, y)`` becomes ``x @ y``: numba computes other calls of universal functions element by element. Of their
options, numba takes the array to write to, and that by position::

    np.add(x, y, out=z)             becomes     np.add(apart(x, z), apart(y, z), z)
    np.add(x, y, out=z, where=m)                put(np.add(x, y), z, m)
    np.add(x, y, dtype=np.int8)                 in_dtype(np.add, np.int8, x, y)
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import Any

import numpy as np

from pykernels.kernel.expression.promotion import APART

#: The names of functions that stand for options of universal functions, in the changed definition.
PUT, IN_DTYPE = "__pykernels_put__", "__pykernels_in_dtype__"
_OPTIONS = {"out", "where", "dtype"}


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
        if function is np.matmul and len(node.args) == 2 and not node.keywords:
            return ast.copy_location(ast.BinOp(node.args[0], ast.MatMult(), node.args[1]), node)
        if isinstance(function, np.ufunc) and function.signature is None and function.nout == 1:
            return self._universal(node, function.nin)
        return node

    def _universal(self, node: ast.Call, n: int) -> ast.expr:
        """Return an expression for a call of a universal function of `n` operands with options."""
        options = {keyword.arg: keyword.value for keyword in node.keywords}
        operands, outs = node.args[:n], [*node.args[n:], *([options["out"]] if "out" in options else [])]
        is_known = options.keys() <= _OPTIONS and not any(isinstance(each, ast.Starred) for each in node.args)
        if not is_known or len(operands) < n or len(outs) > 1 or not (outs or options):
            return node
        out = outs[0] if outs else None
        if isinstance(out, ast.Tuple) and len(out.elts) == 1:
            (out,) = out.elts
        if "dtype" in options:
            value = _call(IN_DTYPE, node, [node.func, options["dtype"], *operands])
        elif "where" not in options and out and not any(isinstance(each, ast.Call) for each in ast.walk(out)):
            operands = [each if ast.unparse(each) == ast.unparse(out) else self._apart(each, out) for each in operands]
            return ast.copy_location(ast.Call(node.func, [*operands, out], []), node)
        else:
            value = ast.copy_location(ast.Call(node.func, operands, []), node)
        if out is None and "where" not in options:
            return value
        return _call(PUT, node, [value, out or ast.Constant(None), options.get("where", ast.Constant(True))])

    def _apart(self, value: ast.expr, target: ast.expr) -> ast.expr:
        """Return a value, or its copy if it shares memory with the target."""
        return _call(APART, value, [value, target]) if _may_be_view(value) else value

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        root: ast.AST = node.target
        while isinstance(root, (ast.Subscript, ast.Attribute)):
            root = root.value
        is_same = ast.unparse(node.target) == ast.unparse(node.value)  # the same elements in the same order
        if isinstance(root, ast.Name) and not is_same:
            node.value = self._apart(node.value, ast.Name(root.id, ast.Load()))
        return node


def _call(name: str, place: ast.expr, arguments: list[ast.expr]) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), arguments, []), place)


def _may_be_view(value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):
        return _may_be_view(value.body) or _may_be_view(value.orelse)
    return isinstance(value, (ast.Name, ast.Subscript, ast.Attribute, ast.Call))
