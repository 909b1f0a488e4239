"""Look up what attributes select from dictionaries: ``{"relu": 1.0, "tanh": 0.5}[kind]`` becomes ``1.0``.

Attributes that hold several values are constants: loops over them are written out.

The dictionary is written in place, has a name that is assigned once, or is a constant of the module. A key that it
lacks is left to raise in plain NumPy.
"""

from __future__ import annotations

import ast
import copy
import types
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pykernels.kernel.expression import promotion
from pykernels.kernel.read import constants

_NOTHING = object()
_NUMBERS_AND_STRINGS = (bool, int, float, str)


def looked_up(function: types.FunctionType, values: Mapping[str, Any]) -> Any:
    """Return a function with the members in place of the lookups; the same function if it has none.

    Parameters
    ----------
    values : mapping
        The values of parameters that are compiled in.
    """
    definition = promotion.definition_of(function)
    if definition is None or function.__closure__:
        return function
    lookup = _Lookup(definition, function.__globals__, values)
    changed = lookup.visit(definition)
    several = {name: value for name, value in values.items() if type(value) in (tuple, list)}
    if several:
        changed = constants.fold(changed, function.__globals__, several)
    elif not lookup.count:
        return function
    changed.body = [each for each in changed.body if not lookup.is_unused(each, changed)]
    return promotion.with_definition(function, changed)


class _Lookup(ast.NodeTransformer):
    """Replaces lookups; `count` says how many."""

    def __init__(self, definition: ast.FunctionDef, namespace: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        nodes = list(ast.walk(definition))
        stored = [n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
        read = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        looked_up = Counter(table.id for table in map(_table_of, nodes) if isinstance(table, ast.Name))
        self._stored = {*stored, *(n.arg for n in nodes if isinstance(n, ast.arg))}
        self._namespace = namespace
        self._values = {
            name: value for name, value in values.items() if name not in stored and type(value) in _NUMBERS_AND_STRINGS
        }
        self._named = {
            target.id: each.value
            for each in definition.body
            if isinstance(each, ast.Assign) and isinstance(each.value, ast.Dict)
            for target in each.targets
            if isinstance(target, ast.Name)
            and (stored.count(target.id), len(each.targets)) == (1, 1)
            and read[target.id] == looked_up[target.id]  # nothing changes it
            and all(map(self._is_constant, each.value.values))
        }
        self.count = 0

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        return self._member(node, node.slice) if isinstance(node.ctx, ast.Load) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        otherwise = node.args[1] if len(node.args) > 1 else ast.Constant(None)
        return self._member(node, node.args[0], otherwise) if _table_of(node) else node

    def is_unused(self, statement: ast.stmt, definition: ast.FunctionDef) -> bool:
        """Whether a statement assigns a dictionary that nothing reads any more."""
        name = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(name, ast.Name) or name.id not in self._named:
            return False
        return promotion.names_in(definition).count(name.id) == 1

    def _member(self, node: ast.expr, key: ast.expr, otherwise: ast.expr | None = None) -> ast.expr:
        value = key.value if isinstance(key, ast.Constant) else _NOTHING
        if isinstance(key, ast.Name):
            value = self._values.get(key.id, _NOTHING)
        table = _table_of(node)
        members = self._members(table) if table and value is not _NOTHING else None
        found = None if members is None else members.get(value, otherwise)
        if found is None:
            return node
        self.count += 1
        return ast.copy_location(copy.deepcopy(found), node)

    def _members(self, table: ast.expr) -> dict[Any, ast.expr] | None:
        """Return the expressions of a dictionary's members by their keys; None for anything else."""
        if isinstance(table, ast.Name) and table.id in self._named:
            table = self._named[table.id]
        if isinstance(table, ast.Dict):
            keys = [each.value if isinstance(each, ast.Constant) else _NOTHING for each in table.keys]
            return None if _NOTHING in keys else dict(zip(keys, table.values))
        given = self._namespace.get(table.id) if isinstance(table, ast.Name) and table.id not in self._stored else None
        if type(given) is not dict or not all(type(each) in _NUMBERS_AND_STRINGS for each in given.values()):
            return None
        return {key: ast.Constant(value) for key, value in given.items()}

    def _is_constant(self, node: ast.expr) -> bool:
        """Whether an expression has the same value wherever it stands."""
        return not any(
            isinstance(each, ast.Call) or (isinstance(each, ast.Name) and each.id in self._stored)
            for each in ast.walk(node)
        )


def _table_of(node: ast.AST) -> ast.expr | None:
    """Return what a lookup, an index or a call of `get`, is made in."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        return node.func.value if 1 <= len(node.args) <= 2 and not node.keywords else None
    return None
