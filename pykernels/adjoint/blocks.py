"""Runs of statements that assign to elements of arrays, most of them loops: each run is one node of the graph."""

from __future__ import annotations

import ast
import copy
import itertools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pykernels.adjoint.syntax import (
    PARTS,
    assignments,
    at_place,
    base_of,
    is_stored,
    is_text,
    loaded,
    only_raises,
    shifted,
    stored,
)

# The name of what is called before each assignment, with its place among them and the variables.
_WATCH = "_watch"


@dataclass(frozen=True, eq=False)
class Block:
    """Statements, each assignment of which has one target."""

    statements: tuple[ast.stmt, ...]
    #: The variables that the statements read from outside, one for each operand of the node.
    reads: tuple[str, ...]
    #: The variables that they leave, one for each result.
    leaves: tuple[str, ...]
    #: The function that they are from, in which names of its file are looked up.
    function: types.FunctionType | None
    #: What a written function calls a variable, if that is another name.
    shown: Mapping[str, str] = field(default_factory=dict)

    @property
    def changed(self) -> frozenset[str]:
        """The variables whose arrays the statements change, if they are arrays."""
        trees = [node for statement in self.statements for node in ast.walk(statement)]
        of_sums = (node.target for node in trees if isinstance(node, ast.AugAssign))
        return frozenset(map(base_of, itertools.chain(filter(is_stored, trees), of_sums)))

    def compiled(self, namespace: Mapping[str, Any], watch: Callable[..., None] | None = None) -> Callable[..., Any]:
        """Return a function of what the block reads, which returns a tuple of what it leaves.

        With `watch`, it calls that before each assignment, with the number of the assignment and all variables.
        """
        body = copy.deepcopy(list(self.statements))
        if watch is not None:
            body = _watched(body, iter(range(len(list(assignments(self.statements))))))
        names: list[ast.expr] = [ast.Name(name, ast.Load()) for name in self.leaves]
        tree = ast.parse(f"def block({', '.join(self.reads)}): pass")
        assert isinstance(tree.body[0], ast.FunctionDef)
        tree.body[0].body = [*body, ast.Return(ast.Tuple(names, ast.Load()))]
        known = {**(self.function.__globals__ if self.function else {}), **namespace, _WATCH: watch}
        exec(compile(ast.fix_missing_locations(tree), "<derivation>", "exec"), known)
        run, changed = known["block"], self.changed

        def of_own(*values: Any) -> Any:
            given = (_own(each, is_changed=name in changed) for name, each in zip(self.reads, values))
            with np.errstate(all="ignore"):
                return run(*given)

        return of_own


def _own(value: Any, *, is_changed: bool) -> Any:
    """Return a copy of an array that is changed, and a view of another one, to whose elements nothing is assigned."""
    if not isinstance(value, np.ndarray):
        return value
    own = value.copy() if is_changed else value.view()
    own.flags.writeable = is_changed
    return own


class Unknown(Exception):
    """A statement that blocks do not have; the arguments are the statement and what it is."""


def normalised(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return statements as a block has them. This raises `Unknown`."""
    return [each for statement in statements for each in _normalised(statement)]


def _normalised(statement: ast.stmt) -> Iterator[ast.stmt]:
    if isinstance(statement, (ast.Assign, ast.AugAssign)) and isinstance(statement.value, ast.IfExp):
        branches = []
        for value in (statement.value.body, statement.value.orelse):
            branch = copy.copy(statement)
            branch.value = value
            branches.append(normalised([branch]))
        yield at_place(ast.If(statement.value.test, *branches), statement)
    elif isinstance(statement, ast.For) and not statement.orelse:
        yield at_place(ast.For(statement.target, _forwards(statement.iter), normalised(statement.body), []), statement)
    elif isinstance(statement, ast.If):
        if not only_raises(statement):
            branches = [normalised(statement.body), normalised(statement.orelse)]
            yield at_place(ast.If(statement.test, *branches), statement)
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, (ast.Name, ast.Subscript)):
        yield statement
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield _assign(statement.target, statement.value, statement)
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _single(target, statement.value, statement)
    elif not isinstance(statement, (ast.Pass, ast.Assert)) and not is_text(statement):
        is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        raise Unknown(statement, "a call whose result is not used" if is_call else "this statement")


def _forwards(items: ast.expr) -> ast.expr:
    """Return ``range(b - 1, a - 1, -1)`` for ``reversed(range(a, b))``."""
    call = items.args[0] if isinstance(items, ast.Call) and ast.unparse(items.func) == "reversed" else None
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != "range" or len(call.args) > 2:
        return items
    begin, end = call.args if len(call.args) == 2 else (ast.Constant(0), call.args[0])
    made = ast.Call(call.func, [shifted(end, -1), shifted(begin, -1), ast.Constant(-1)], [])
    return ast.fix_missing_locations(ast.copy_location(made, items))


def _single(target: ast.expr, value: ast.expr, place: ast.stmt) -> Iterator[ast.stmt]:
    if isinstance(target, (ast.Name, ast.Subscript)):
        yield _assign(target, value, place)
        return
    if not isinstance(target, (ast.Tuple, ast.List)):
        raise Unknown(place, "this assignment")
    values: list[ast.expr] = [ast.Subscript(value, ast.Constant(at), ast.Load()) for at in range(len(target.elts))]
    if isinstance(value, (ast.Tuple, ast.List)):
        values = value.elts
    else:
        for each in values:
            setattr(each, PARTS, len(values))
    if len(values) != len(target.elts):
        raise Unknown(place, "this assignment")
    if stored([place]) & loaded(values[1:]):
        names = _next_names(target.elts)
        for name, each in zip(names, values):
            yield from _single(name, each, place)
        values = [ast.Name(name.id, ast.Load()) for name in names]
    for item, each in zip(target.elts, values):
        yield from _single(item, each, place)


def _next_names(targets: Sequence[ast.expr]) -> list[ast.Name]:
    """Return variables for what targets, some of which are still read, get next."""
    bases = [base_of(each) for each in targets]
    numbers = [bases[:at].count(each) + 1 for at, each in enumerate(bases)]
    return [ast.Name(f"next_{each}{n if n > 1 else ''}", ast.Store()) for each, n in zip(bases, numbers)]


def _assign(target: ast.expr, value: ast.expr, place: ast.stmt) -> ast.Assign:
    return at_place(ast.Assign([target], value), place)


def _watched(statements: Sequence[ast.stmt], numbers: Iterator[int]) -> list[ast.stmt]:
    """Return statements with a call of the watching function before each assignment."""
    found: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            found += ast.parse(f"{_WATCH}({next(numbers)}, locals())").body
        elif isinstance(statement, (ast.For, ast.If)):
            statement.body = _watched(statement.body, numbers)
            statement.orelse = _watched(statement.orelse, numbers)
        found.append(statement)
    return found
