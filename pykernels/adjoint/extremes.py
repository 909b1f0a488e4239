"""Find the statements of loops that keep an extreme number: ``top = max(top, x[i])``, or the same with an `if`.

After the loop, the extreme number is equal to that of the turn that has set it last, so that the gradient needs no
values of other turns.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pykernels.adjoint.syntax import Assignment, Target, base_of, loaded, loops_of, target_of

# Functions, and comparisons of another number with the extreme one, by which of them is kept.
_KEPT = {
    "max": {"max", "maximum", "fmax", ast.Gt, ast.GtE},
    "min": {"min", "minimum", "fmin", ast.Lt, ast.LtE},
}
_MIRRORED = {ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Lt: ast.Gt, ast.LtE: ast.GtE}


@dataclass(frozen=True)
class Extreme:
    """A statement that keeps the extreme one of two numbers."""

    #: The assignment in it, and what it assigns to.
    assignment: Assignment
    target: Target
    #: The other number.
    value: ast.expr
    kind: str


def running_extremes(statements: Sequence[ast.stmt]) -> Mapping[ast.stmt, Extreme]:
    """Return the statements that keep extreme numbers of variables, or of elements, of which a loop does no more."""
    found: dict[ast.stmt, Extreme] = {}
    for loop in loops_of(statements):
        extremes = {each: extreme for each in _of_turn(loop.body) if (extreme := _extreme(each)) is not None}
        for name in dict.fromkeys(base_of(each.target) for each in extremes.values()):
            own = {each: extreme for each, extreme in extremes.items() if base_of(extreme.target) == name}
            trees = [node for each in loop.body for node in ast.walk(each)]
            uses = sum(isinstance(node, ast.Name) and node.id == name for node in trees)
            # Each occurs in its statement twice.
            if uses == 2 * len(own) and len({each.kind for each in own.values()}) == 1:
                found.update(own)
    return found


def _of_turn(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, and those in branches, but not those in loops."""
    for each in statements:
        yield each
        if isinstance(each, ast.If) and _extreme(each) is None:
            yield from _of_turn([*each.body, *each.orelse])


def _extreme(statement: ast.stmt) -> Extreme | None:
    if isinstance(statement, ast.If):
        return _of_branch(statement)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return None
    call, target = statement.value, target_of(statement)
    kind = _kind(ast.unparse(call.func).rpartition(".")[2])
    others = [each for each in call.args if ast.unparse(each) != ast.unparse(target)]
    if not kind or call.keywords or len(call.args) != 2 or len(others) != 1 or base_of(target) in loaded(others):
        return None
    return Extreme(statement, target, others[0], kind)


def _of_branch(statement: ast.If) -> Extreme | None:
    """Return what ``if x > top: top = x`` keeps."""
    test, body = statement.test, statement.body
    if statement.orelse or len(body) != 1 or not isinstance(body[0], ast.Assign) or not isinstance(test, ast.Compare):
        return None
    target, value = target_of(body[0]), body[0].value
    sides, kind = [ast.unparse(each) for each in (test.left, test.comparators[0])], type(test.ops[0])
    if sides == [ast.unparse(target), ast.unparse(value)] and kind in _MIRRORED:
        sides, kind = sides[::-1], _MIRRORED[kind]
    is_known = len(test.ops) == 1 and sides == [ast.unparse(value), ast.unparse(target)]
    if not is_known or not _kind(kind) or base_of(target) in loaded([value]):
        return None
    return Extreme(body[0], target, value, _kind(kind))


def _kind(how: object) -> str:
    return next((kind for kind, known in _KEPT.items() if how in known), "")
