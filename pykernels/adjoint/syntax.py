"""Questions about statements: which variables they assign, read and need."""

from __future__ import annotations

import ast
import copy
import itertools
import keyword
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

Assignment = ast.Assign | ast.AugAssign
Target = ast.Name | ast.Subscript
Tree = TypeVar("Tree", ast.stmt, ast.expr)
Placed = TypeVar("Placed", bound=ast.AST)
#: The attribute of statements and expressions of helpers that says where they stand: ``file:line``.
PLACE = "place"
#: The attribute of an element of a tuple that says how many are unpacked.
PARTS = "parts"


def at_place(new: Placed, old: ast.stmt) -> Placed:
    """Return a statement, or a part of one, which stands where another one does."""
    if hasattr(old, PLACE):
        setattr(new, PLACE, getattr(old, PLACE))
    return ast.copy_location(new, old)


def assignments(statements: Iterable[ast.stmt]) -> Iterator[Assignment]:
    """Yield all assignments, in the order of their lines."""
    for statement in statements:
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            yield statement
        elif isinstance(statement, (ast.For, ast.If)):
            yield from assignments(statement.body)
            yield from assignments(statement.orelse)


def loops_of(statements: Iterable[ast.stmt]) -> Iterator[ast.For]:
    """Yield all loops, each before those within it."""
    trees = (node for statement in statements for node in ast.walk(statement))
    return (node for node in trees if isinstance(node, ast.For))


def target_of(assignment: Assignment) -> Target:
    """Return what an assignment assigns to."""
    target = assignment.target if isinstance(assignment, ast.AugAssign) else assignment.targets[0]
    assert isinstance(target, (ast.Name, ast.Subscript))
    return target


def value_of(assignment: Assignment) -> ast.expr:
    """Return the value that an assignment gives its target: ``y + x`` for ``y += x``."""
    if isinstance(assignment, ast.Assign):
        return assignment.value
    before = copy.deepcopy(assignment.target)
    before.ctx = ast.Load()
    return ast.copy_location(ast.BinOp(before, assignment.op, assignment.value), assignment)


def assigned(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the variables that assignments name, or name elements of."""
    return {base_of(target_of(each)) for each in assignments(statements)}


def rebound(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the variables that assignments name, but for those of which they only name elements."""
    return {target.id for target in map(target_of, assignments(statements)) if isinstance(target, ast.Name)}


def stored(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the variables that statements assign, and those to whose elements they assign."""
    trees = [node for statement in statements for node in ast.walk(statement)]
    names = {node.id for node in trees if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {base_of(node) for node in trees if is_stored(node)}


def loaded(trees: Iterable[ast.AST]) -> set[str]:
    """Return the variables that are read, also those to whose elements something is assigned."""
    names = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Load)}


def base_of(tree: ast.AST) -> str:
    """Return the variable of which an expression such as ``x[i][j]`` is an element or a part; "" if there is none."""
    while isinstance(tree, ast.Subscript):
        tree = tree.value
    return tree.id if isinstance(tree, ast.Name) else ""


def assigns_elements(statement: ast.stmt) -> bool:
    """Whether a statement assigns to elements."""
    return any(map(is_stored, ast.walk(statement)))


def is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a text, such as the documentation of a function."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def only_raises(statement: ast.If) -> bool:
    """Whether an `if` does no more than refuse something."""
    return not statement.orelse and all(isinstance(each, ast.Raise) for each in statement.body)


def renamed(tree: Tree, names: Mapping[str, ast.expr]) -> Tree:
    """Return a copy of a statement or expression with other expressions in the place of variables."""

    class Renamer(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            new = names.get(node.id, node)
            return ast.Name(new.id, node.ctx) if isinstance(new, ast.Name) else copy.deepcopy(new)

    return Renamer().visit(copy.deepcopy(tree))  # type: ignore[no-any-return]


def new_name(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: the name itself, or one with another number at its end."""
    stem = name.rstrip("0123456789")
    names = itertools.chain([name], (f"{stem}{number}" for number in itertools.count(2)))
    return next(each for each in names if each not in taken and not keyword.iskeyword(each))


def is_stored(tree: ast.AST) -> bool:
    """Whether an expression is an element or a part of a variable that is assigned."""
    return isinstance(tree, ast.Subscript) and isinstance(tree.ctx, ast.Store)


def parts_of(trees: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """Yield the variables, and the elements and parts of variables, that are read; the largest alone."""
    for tree in trees:
        if isinstance(tree, (ast.Name, ast.Subscript)) and base_of(tree):
            if isinstance(tree.ctx, ast.Load):
                yield tree
            if isinstance(tree, ast.Subscript):
                yield from parts_of([tree.slice])
        else:
            yield from parts_of(ast.iter_child_nodes(tree))


def begun_in(statements: Sequence[ast.stmt]) -> set[str]:
    """Return the variables that belong to these statements, and not to a loop or branch within one of them alone."""
    found: set[str] = set()
    for at, statement in enumerate(statements):
        others = [*statements[:at], *statements[at + 1 :]]
        is_compound = isinstance(statement, (ast.For, ast.If))
        found |= assigned([statement]) & (loaded(others) | stored(others) if is_compound else assigned([statement]))
    return found


def needed(statements: Sequence[ast.stmt], names: set[str], known: set[str]) -> list[ast.stmt]:
    """Return those statements, and parts of statements, that compute variables from those that are known."""
    while True:
        kept = [each for statement in statements for each in _slice(statement, names)]
        more = loaded(kept) - names - known
        if not more:
            return kept
        names = names | more


def without_dead(statements: Sequence[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """Return statements without assignments to variables that neither later ones nor `names` read."""
    live, kept = set(names), list[ast.stmt]()
    for statement in reversed(statements):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            if statement.targets[0].id not in live:
                continue
            live.discard(statement.targets[0].id)
        live |= loaded([statement])
        kept.append(statement)
    return kept[::-1]


def _slice(statement: ast.stmt, names: set[str]) -> Iterator[ast.stmt]:
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        if base_of(target_of(statement)) in names:
            yield statement
        return
    if not isinstance(statement, (ast.For, ast.If)):
        return
    made = copy.copy(statement)
    made.body = [each for one in statement.body for each in _slice(one, names)]
    made.orelse = [each for one in statement.orelse for each in _slice(one, names)]
    if made.body or made.orelse:
        made.body = made.body or [ast.Pass()]
        yield made


def with_unpacking(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return statements in which assignments of all elements of a tuple, one by one, unpack it."""
    found: list[ast.stmt] = []
    at = 0
    while at < len(statements):
        first = statements[at]
        if isinstance(first, (ast.For, ast.If)):
            first = copy.copy(first)
            first.body, first.orelse = with_unpacking(first.body), with_unpacking(first.orelse)
        count = getattr(first.value, PARTS, 1) if isinstance(first, ast.Assign) else 1
        group = statements[at : at + count]
        whole = _unpacked(group) if count > 1 else None
        found.append(whole or first)
        at += count if whole else 1
    return found


def _unpacked(group: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return the assignment that unpacks a tuple, of those of its elements; None if some of these are missing."""
    targets, wholes = [], set()
    for at, each in enumerate(group):
        if not isinstance(each, ast.Assign) or getattr(each.value, PARTS, 0) != len(group):
            return None
        assert isinstance(each.value, ast.Subscript)
        if ast.unparse(each.value.slice) != str(at):
            return None
        targets.append(each.targets[0])
        wholes.add(ast.unparse(each.value.value))
    first = group[0]
    assert isinstance(first, ast.Assign) and isinstance(first.value, ast.Subscript)
    return ast.Assign([ast.Tuple(targets, ast.Store())], first.value.value) if len(wholes) == 1 else None


def with_shape_of(statements: Sequence[ast.stmt], name: str, other: str) -> list[ast.stmt]:
    """Return statements that ask another variable for the shape of one; the statements if they need its elements."""
    trees = [node for statement in statements for node in ast.walk(statement)]
    asked = [node for node in trees if isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "ndim")]
    uses = [node for node in trees if isinstance(node, ast.Name) and node.id == name]
    if not uses or len(uses) > sum(base_of(node.value) == name for node in asked):
        return list(statements)
    return [renamed(statement, {name: ast.Name(other, ast.Load())}) for statement in statements]


def shifted(tree: ast.expr, number: int) -> ast.expr:
    """Return the expression of an integer, plus a number."""
    known = _integer(tree)
    if known is not None:
        return ast.Constant(known + number)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Add, ast.Sub)):
        own, sign = _integer(tree.right), 1 if isinstance(tree.op, ast.Add) else -1
        if own is not None:
            tree, number = tree.left, number + sign * own
    if number == 0:
        return tree
    return ast.BinOp(tree, ast.Add() if number > 0 else ast.Sub(), ast.Constant(abs(number)))


def _integer(tree: ast.expr) -> int | None:
    """Return the integer that is written, or None."""
    try:
        value = ast.literal_eval(tree)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


def without_minus(tree: ast.expr) -> ast.expr | None:
    """Return an expression without the minus that it begins with, or None."""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return tree.operand
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Mult, ast.Div)):
        left = without_minus(tree.left)
        return None if left is None else ast.BinOp(left, tree.op, tree.right)
    return None
