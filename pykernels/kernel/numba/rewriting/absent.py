"""Leave out what a kernel does with optional tensors that are left out: numba would compile it, and refuse it.

After ``x, factor = args`` without a `factor`, ``if factor is not None:`` disappears with its block, here if it stands
at the top of the function, and elsewhere by numba, which sees that ``factor = None``.
"""

from __future__ import annotations

import ast
import itertools
import types
from collections.abc import Iterator, Mapping, Sequence

from pykernels.kernel.expression import promotion
from pykernels.kernel.numba.rewriting import outlining
from pykernels.kernel.read.signature import Group

_ABSENT = "__pykernels_absent_"


def folded(function: types.FunctionType, *groups: Sequence[Group]) -> types.FunctionType:
    """Return a kernel for calls without some tensors; the same function if `groups`, one for each tuple, has all."""
    definition = promotion.definition_of(function)
    if definition is None or function.__closure__ or all(each is not None for group in groups for each in group):
        return function
    absent = {
        parameter.arg: {at for at, each in enumerate(group) if each is None}
        for parameter, group in zip(definition.args.args, groups)
        if parameter.arg not in outlining.stored(definition)
    }
    definition.body = list(_Folder(absent).block(definition.body))
    return promotion.with_definition(function, definition)


class _Folder(ast.NodeTransformer):
    """Folds statements at the top of a function; `visit` puts None in place of ``args[1]``."""

    def __init__(self, absent: Mapping[str, set[int]]) -> None:
        self._absent = absent
        self._names: set[str] = set()  # the variables that are None from here on

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        absent = self._absent.get(node.value.id, set()) if isinstance(node.value, ast.Name) else set()
        is_absent = isinstance(node.slice, ast.Constant) and node.slice.value in absent
        return ast.copy_location(ast.Constant(None), node) if is_absent else node

    def block(self, statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        """Yield statements without the branches that are not taken."""
        for given in statements:
            statement = self.visit(given)
            holds = self._holds(statement.test) if isinstance(statement, ast.If) else None
            if isinstance(statement, ast.If) and holds is not None:
                yield from self.block(statement.body if holds else statement.orelse)
                continue
            self._names -= outlining.stored(statement)
            found = list(self._assigned(statement)) if isinstance(statement, ast.Assign) else []
            yield statement
            for name in found:
                yield ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)), statement)
            self._names.update(found)

    def _assigned(self, statement: ast.Assign) -> Iterator[str]:
        """Yield the variables of tensors that are left out; others take their places in the statement."""
        for target, value in _pairs(statement):
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Name):
                plain = itertools.takewhile(lambda each: not isinstance(each, ast.Starred), target.elts)
                names = [each for at, each in enumerate(plain) if at in self._absent.get(value.id, ())]
            else:
                names = [target] if _is_none(value) else []
            for name in names:
                if isinstance(name, ast.Name):
                    yield name.id
                    name.id = f"{_ABSENT}{name.id}"

    def _holds(self, test: ast.expr) -> bool | None:
        """Return what ``name is None`` and ``name is not None`` are known to be."""
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Is, ast.IsNot)):
            return None
        is_known = _is_none(test.left) or (isinstance(test.left, ast.Name) and test.left.id in self._names)
        return isinstance(test.ops[0], ast.Is) if is_known and _is_none(test.comparators[0]) else None


def _pairs(statement: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """Return what a statement assigns, and to what."""
    (target, *others), value = statement.targets, statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts))
    return [] if others else [(target, value)]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
