"""Replace the constants of a kernel's file by their values: ``EPS``, ``SIZES["window"]``, ``SETTINGS.eps``."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping
from typing import Any

_PLAIN = (bool, int, float, str, type(None))
_NOTHING = object()


def fold(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> ast.FunctionDef:
    """Change `definition`; return it.

    Parameters
    ----------
    namespace : mapping
        The values of the module's names. Those that are numbers, strings, tuples of these, dictionaries or dataclasses
        are constants: like all names of the module, they have the values that they had when the kernel was loaded.
    """
    arguments = (definition.args.args, definition.args.kwonlyargs, definition.args.posonlyargs)
    own = {argument.arg for group in arguments for argument in group}
    own |= {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    definition.body = [_Folder(own, namespace).visit(statement) for statement in definition.body]
    return definition


class _Folder(ast.NodeTransformer):
    def __init__(self, own: set[str], namespace: Mapping[str, Any]) -> None:
        self._own = own
        self._namespace = namespace

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._folded(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._folded(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self._folded(node)

    def _folded(self, node: ast.expr) -> ast.expr:
        value = self._value(node)
        members = value if type(value) is tuple else (value,)
        if any(type(member) not in _PLAIN for member in members):
            self.generic_visit(node)
            return node
        return ast.copy_location(ast.parse(repr(value), mode="eval").body, node) if _is_literal(value) else node

    def _value(self, node: ast.expr) -> Any:
        """Return the value of a constant, or `_NOTHING`."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in self._own:
            return self._namespace.get(node.id, _NOTHING)
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value)
            is_record = dataclasses.is_dataclass(owner) and not isinstance(owner, type)
            return getattr(owner, node.attr, _NOTHING) if is_record else _NOTHING
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            owner = self._value(node.value)
            return owner.get(node.slice.value, _NOTHING) if type(owner) is dict else _NOTHING
        return _NOTHING


def _is_literal(value: Any) -> bool:
    """Whether Python reads a value from its text, which it does not for infinity and NaN."""
    try:
        ast.literal_eval(repr(value))
    except ValueError:
        return False
    return True
