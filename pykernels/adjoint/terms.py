"""Statements that add terms to gradients of variables, and of their elements."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from pykernels.adjoint.syntax import Target, base_of, loaded, stored, without_minus

#: What the name of a gradient ends with within a block.
GRADIENT = "_gradient"
# Functions whose results are new arrays.
_NEW = frozenset({"np.where", "np.sum"})


def is_gradient(name: str) -> bool:
    """Whether a variable is the gradient of another one."""
    return name.endswith(GRADIENT)


def gradient_of(tree: ast.expr) -> Target:
    """Return the gradient of a variable or of an element, to assign to: ``x_gradient[i]`` for ``x[i]``."""
    if isinstance(tree, ast.Subscript):
        base = gradient_of(tree.value)
        base.ctx = ast.Load()
        return ast.Subscript(base, tree.slice, ast.Store())
    assert isinstance(tree, ast.Name)
    return ast.Name(f"{tree.id}{GRADIENT}", ast.Store())


def adding(target: Target, term: ast.expr) -> ast.stmt:
    """Return the statement that adds a term to a gradient, or takes one without a minus from it."""
    takes = False
    while (negated := without_minus(term)) is not None:
        term, takes = negated, not takes
    return ast.AugAssign(target, ast.Sub() if takes else ast.Add(), term)


def assigning(target: Target, value: ast.expr) -> ast.stmt:
    """Return the statement that gives a gradient a new value: a shorter one if it adds to the value before."""
    if isinstance(value, ast.BinOp) and ast.unparse(value.left) == ast.unparse(target):
        return ast.AugAssign(target, value.op, value.right)
    return ast.fix_missing_locations(ast.Assign([target], value))


def without_zeros(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return statements in which a gradient begins with its first term, not with 0 to which that is added."""
    found = list(statements)
    for zero in statements:
        if isinstance(zero, ast.Assign) and ast.unparse(zero.value) == "0.0" and isinstance(zero.targets[0], ast.Name):
            later = found[found.index(zero) + 1 :]
            name = {zero.targets[0].id}
            first = next((each for each in later if name & (loaded([each]) | stored([each]))), None)
            if (
                isinstance(first, ast.AugAssign)
                and isinstance(first.target, ast.Name)
                and isinstance(first.op, ast.Add)
            ):
                others = later[later.index(first) + 1 :]
                if base_of(first.value) not in loaded(others) | stored(others):
                    found[found.index(first)] = ast.Assign([first.target], first.value)
                    found.remove(zero)
    return found


def without_last_zeros(statements: Sequence[ast.stmt], names: Collection[str]) -> list[ast.stmt]:
    """Return statements without those that set gradients of these names, or elements of them, to 0 for nothing."""
    found: list[ast.stmt] = []
    for each in reversed(statements):
        is_zero = isinstance(each, ast.Assign) and ast.unparse(each.value) == "0.0"
        name = base_of(each.targets[0]) if isinstance(each, ast.Assign) else ""
        if not is_zero or name not in names or name in loaded(found) | stored(found):
            found.insert(0, each)
    return found


def may_be_a_view(tree: ast.expr) -> bool:
    """Whether the array of an expression may be an array that has a name, or a view of one."""
    return not isinstance(tree, (ast.BinOp, ast.UnaryOp)) and ast.unparse(tree).partition("(")[0] not in _NEW
