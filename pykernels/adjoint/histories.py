"""Keep the values that a variable has in each turn of a loop: ``h = f(h)`` becomes ``hs[t + 1] = f(hs[t])``.

The gradient of a loop reads the arrays that the loop leaves, so that these values are there, last one first.
"""

from __future__ import annotations

import ast
import copy
import itertools
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from pykernels.adjoint.syntax import (
    assigned,
    assignments,
    at_place,
    base_of,
    loaded,
    loops_of,
    new_name,
    rebound,
    renamed,
    shifted,
    stored,
    target_of,
    value_of,
)
from pykernels.base.errors import KernelError

T = TypeVar("T")

#: In the place of a variable: the call at a line of a function becomes the statements of the function that is called.
CALL = "()"
#: In the place of a line: a variable that is assigned several times in one turn has a name for each value.
IN_TURN = 0
#: The variables whose values loops keep, by function and line of the loop, each with an array or number that it holds.
Histories = Mapping[tuple[types.FunctionType | None, int, str], Any]


class NeedsHistory(KernelError):
    """A gradient needs the values that a variable has in each turn of a loop."""

    def __init__(self, message: str, histories: Histories) -> None:
        super().__init__(message)
        self.histories = histories


def keeping(derive: Callable[[Histories], T]) -> T:
    """Return the result of a derivation, which begins again with each history that it needs."""
    histories: Histories = {}
    while True:
        try:
            return derive(histories)
        except NeedsHistory as needs:
            if needs.histories.keys() <= histories.keys():
                raise
            histories = {**histories, **needs.histories}


def with_histories(
    statements: Sequence[ast.stmt],
    function: types.FunctionType | None,
    histories: Histories,
    taken: Collection[str],
    later: Sequence[ast.stmt],
) -> list[ast.stmt]:
    """Return statements whose loops keep the values of variables.

    Parameters
    ----------
    function : function, optional
        The one that the statements are from.
    taken : collection of str
        Names that new variables must not have.
    later : sequence of ast.stmt
        The statements after these.
    """
    made = list(statements)
    for (of, line, variable), value in histories.items():
        names = _Names({*taken, *stored(made), *loaded(made)})
        if of is function and line == IN_TURN:
            own = (ast.Name(names.new(f"{variable}_{number}"), ast.Load()) for number in itertools.count(1))
            made = _with_names([*made, *later], variable, own)[: len(made)]
        elif of is function and variable != CALL:
            made = list(_kept(made, line, variable, value, names, later))
    return made


def begins_in(statements: Sequence[ast.stmt], variable: str, *, again: bool = True) -> bool:
    """Whether statements begin with a value for a variable.

    With `again`, they must assign it another time, not in a loop within them alone.
    """
    used = [each for each in statements if variable in loaded([each]) | stored([each])]
    first = used[0] if used else None
    is_plain = isinstance(first, ast.Assign) and ast.unparse(first.targets[0]) == variable
    return is_plain and variable not in loaded(used[:1]) and (not again or any(_change(used[1:], variable)))


def _change(statements: Sequence[ast.stmt], variable: str) -> Iterator[ast.stmt]:
    """Yield the statements that assign a variable, not elements of it alone, but for loops."""
    return (each for each in statements if not isinstance(each, ast.For) and variable in rebound([each]))


def _with_names(
    statements: Sequence[ast.stmt], variable: str, names: Iterator[ast.expr], *, is_kept: bool = False
) -> list[ast.stmt]:
    """Return statements with a name for each value that they give a variable.

    The last value has the variable's own name, or, with `is_kept`, the variable gets it at the end.
    """
    own = ast.Name(variable, ast.Load())
    if begins_in(statements, variable, again=not is_kept):
        at = next(at for at, each in enumerate(statements) if variable in stored([each]))
        is_last = not any(_change(statements[at + 1 :], variable))
        first = next(names) if is_kept or not is_last else own
        last = own if not is_kept else first if is_last else next(names)
        begun, rest = renamed(statements[at], {variable: first}), statements[at + 1 :]
        made = _turn(rest, variable, first, last, names) if not is_last else _renamed(rest, variable, last)
        kept = [at_place(ast.Assign([_stored(own)], last), statements[at])] if is_kept else []
        return [*statements[:at], begun, *made, *kept]
    made = []
    for each in statements:
        if isinstance(each, (ast.For, ast.If)):
            others = loaded(other for other in statements if other is not each)
            each = copy.copy(each)
            is_left = isinstance(each, ast.For) and variable in others
            each.body = _with_names(each.body, variable, names, is_kept=is_left)
            each.orelse = _with_names(each.orelse, variable, names)
        made.append(each)
    return made


def _renamed(statements: Sequence[ast.stmt], variable: str, name: ast.expr) -> list[ast.stmt]:
    return [renamed(each, {variable: name}) for each in statements]


def _assigned_in_turn(loop: ast.For) -> set[str]:
    """Return the variables that a loop assigns outside of the loops within it."""
    return assigned(loop.body) - {name for one in loops_of(loop.body) for name in assigned(one.body)}


def may_keep(loop: ast.For, variable: str, value: Any) -> bool:
    """Whether a loop can keep the values of a variable."""
    places = [each for each in assignments(loop.body) if base_of(target_of(each)) == variable]
    within = {each for one in loops_of(loop.body) for each in assignments(one.body)}
    is_array = isinstance(value, np.ndarray) and value.ndim > 0
    return (
        _bounds(loop) is not None
        and np.asarray(value).dtype.kind in "fiu"
        and all(each not in within and isinstance(target_of(each), ast.Name) for each in places)
        # Others may refer to an array that a sum changes, but for one that the turn makes.
        and not (is_array and isinstance(places[0], ast.AugAssign))
    )


class _Names:
    """New names, none of which is taken."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken

    def new(self, name: str) -> str:
        """Return a name, with a number behind it if it is taken."""
        found = new_name(name, self._taken)
        self._taken.add(found)
        return found


def _kept(
    statements: Sequence[ast.stmt], line: int, variable: str, value: Any, names: _Names, later: Sequence[ast.stmt]
) -> Iterator[ast.stmt]:
    for statement in statements:
        others = [*(each for each in statements if each is not statement), *later]
        # The loops of a helper are all at the line of its call.
        is_at_line = isinstance(statement, ast.For) and statement.lineno == line
        if isinstance(statement, ast.For) and is_at_line and variable in _assigned_in_turn(statement):
            yield from _with_history(statement, variable, value, names, is_read=variable in loaded(others))
        elif isinstance(statement, (ast.For, ast.If)):
            made = copy.copy(statement)
            made.body = list(_kept(statement.body, line, variable, value, names, others))
            made.orelse = list(_kept(statement.orelse, line, variable, value, names, others))
            yield made
        else:
            yield statement


def _with_history(loop: ast.For, variable: str, value: Any, names: _Names, *, is_read: bool) -> Iterator[ast.stmt]:
    name = names.new(f"{variable}s")
    if isinstance(loop.target, ast.Name) and loop.target.id == "_":
        turn = ast.Name(names.new("turn"), ast.Load())
        loop = copy.copy(loop)
        loop.target, loop.body = _stored(turn), [renamed(each, {"_": turn}) for each in loop.body]
    bounds = _bounds(loop)
    assert bounds is not None
    before, after, length = bounds
    array = np.asarray(value)
    shape = f"({ast.unparse(length)},) + {variable}.shape, {variable}.dtype" if array.ndim else ast.unparse(length)
    kind = ", np.int64" if not array.ndim and array.dtype.kind != "f" else ""
    temporary = (ast.Name(names.new(f"{name}_{number}"), ast.Load()) for number in itertools.count(1))
    body = _turn(loop.body, variable, _element(name, before), _element(name, after), temporary)
    made = [*ast.parse(f"{name} = np.empty({shape}{kind})\n{name}[0] = {variable}").body]
    made.append(ast.For(loop.target, loop.iter, body, []))
    if is_read:
        made += ast.parse(f"{variable} = {name}[-1]").body
    for each in made:
        for node in ast.walk(each):
            if isinstance(node, (ast.stmt, ast.expr)) and not hasattr(node, "lineno"):
                ast.copy_location(node, loop)
    yield from made


def _turn(
    statements: Sequence[ast.stmt], variable: str, before: ast.expr, after: ast.expr, temporary: Iterator[ast.expr]
) -> list[ast.stmt]:
    """Return statements that leave in `after` what they make of a variable, which is in `before`."""
    made: list[ast.stmt] = []
    places = list(_change(statements, variable))
    for each in statements:
        if each not in places:
            made.append(renamed(each, {variable: before}))
            continue
        target = after if each is places[-1] else next(temporary)
        if isinstance(each, ast.If):
            branches = [_turn(branch, variable, before, target, temporary) for branch in (each.body, each.orelse)]
            for branch in branches:
                branch[-1] = at_place(branch[-1], each)
            made.append(at_place(ast.If(renamed(each.test, {variable: before}), *branches), each))
        else:
            assert isinstance(each, (ast.Assign, ast.AugAssign))
            value = renamed(value_of(each), {variable: before})
            made.append(at_place(ast.Assign([_stored(target)], value), each))
        before = target
    return made if places else [*made, ast.Assign([_stored(after)], before)]


def _bounds(loop: ast.For) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """Return how many turns are before one, how many are after it, and one more than all; None for other loops."""
    call = loop.iter
    is_range = isinstance(call, ast.Call) and ast.unparse(call.func) == "range"
    if not is_range or not isinstance(loop.target, ast.Name) or loop.target.id in stored(loop.body):
        return None
    assert isinstance(call, ast.Call)
    step = {"1": 1, "-1": -1}.get(ast.unparse(call.args[2]), 0) if len(call.args) == 3 else 1
    begin, end = call.args[:2] if len(call.args) > 1 else (ast.Constant(0), call.args[0])
    if not step or stored(loop.body) & loaded([begin, end]):
        return None
    first, last = (begin, end) if step == 1 else (end, begin)
    length = _minus(last, first)
    if isinstance(length, (ast.BinOp, ast.UnaryOp)):  # it may be negative
        length = ast.Call(ast.Name("max", ast.Load()), [shifted(length, 1), ast.Constant(1)], [])
    else:
        length = shifted(length, 1)
    at = ast.Name(loop.target.id, ast.Load())
    if step == 1:
        return _minus(at, begin), _minus(at, shifted(begin, -1)), length
    return _minus(begin, at), _minus(shifted(begin, 1), at), length


def _minus(a: ast.expr, b: ast.expr) -> ast.expr:
    try:
        number = ast.literal_eval(b)
    except ValueError:
        return ast.BinOp(a, ast.Sub(), b)
    return shifted(a, -number)


def _element(name: str, index: ast.expr) -> ast.Subscript:
    return ast.Subscript(ast.Name(name, ast.Load()), index, ast.Load())


def _stored(tree: ast.expr) -> ast.expr:
    made = copy.deepcopy(tree)
    assert isinstance(made, (ast.Name, ast.Subscript))
    made.ctx = ast.Store()
    return made
