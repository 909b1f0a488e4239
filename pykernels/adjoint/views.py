"""Assign to elements of arrays in the place of views of them that have names.

A block changes each array under one name. After ``row = x[i]``, ``row[k] = a`` becomes ``x[i][k] = a``. A view of
another shape, ``row = x[i].reshape(n)``, becomes a copy that is assigned back after its last use.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Sequence

from pykernels.adjoint import syntax

#: The operations whose results are views of another shape.
RESHAPED = frozenset({"reshape", "ravel"})


def is_view(tree: ast.expr) -> bool:
    """Whether an expression is a part of a variable, or its elements in another shape."""
    return (isinstance(tree, ast.Subscript) and bool(syntax.base_of(tree))) or _whole(tree) is not None


def without_views(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a function without assignments to elements of views that have names."""
    nodes = [node for each in statements for node in ast.walk(each)]
    changed = {syntax.base_of(node) for node in nodes if syntax.is_stored(node)}
    stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    uses = _uses(statements)
    views = _Views({name: uses[name] for name in changed if stored[name] == 1})
    made = views.replaced(statements, is_in_block=False)
    # A view of a view is one of an array now.
    return without_views(made) if views.found else made


class _Views:
    def __init__(self, uses: dict[str, int]) -> None:
        # Variables that are assigned once, and to whose elements something is assigned, and how often each occurs.
        self._uses = uses
        self.found = False

    def replaced(self, statements: Sequence[ast.stmt], *, is_in_block: bool) -> list[ast.stmt]:
        """Return statements, of a whole function or a part of it, without such assignments."""
        rest = [made for each in statements for made in self._single(each)]
        found: list[ast.stmt] = []
        while rest:
            first = rest.pop(0)
            is_in_block = is_in_block or isinstance(first, ast.For) or syntax.assigns_elements(first)
            if isinstance(first, (ast.For, ast.If)):
                first = copy.copy(first)
                first.body, first.orelse = (
                    self.replaced(branch, is_in_block=True) for branch in (first.body, first.orelse)
                )
            elif isinstance(first, ast.Assign) and self._names_view(first, rest):
                assert isinstance(first.targets[0], ast.Name)
                name, whole = first.targets[0].id, _whole(first.value)
                if whole is None:
                    rest = [syntax.renamed(each, {name: first.value}) for each in rest]
                    self.found = True
                    continue
                if is_in_block:  # otherwise, the view is an array of its own
                    first, back = _copied(first, name, whole)
                    rest.insert(1 + max(at for at, each in enumerate(rest) if name in _uses([each])), back)
            found.append(first)
        return found

    def _single(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        """Yield a statement, or the assignments of one that assigns several views."""
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Tuple):
            target, values = statement.targets[0], statement.value.elts
            names = target.elts if isinstance(target, ast.Tuple) else []
            is_plain = len(names) == len(values) and not syntax.stored([statement]) & syntax.loaded(values)
            if is_plain and any(isinstance(name, ast.Name) and name.id in self._uses for name in names):
                pairs = zip(names, values)
                yield from (syntax.at_place(ast.Assign([name], value), statement) for name, value in pairs)
                return
        yield statement

    def _names_view(self, statement: ast.Assign, rest: Sequence[ast.stmt]) -> bool:
        """Whether a statement gives a view a name that occurs in `rest` alone, where the view is the same."""
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or not is_view(statement.value):
            return False
        nodes = [node for each in rest for node in ast.walk(each)]
        assigned = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        is_known = self._uses.get(target.id) == 1 + _uses(rest)[target.id]
        return is_known and not assigned & set(_uses([statement.value]))


def _whole(tree: ast.expr) -> ast.expr | None:
    """Return the part of a variable that an expression has in another shape, or None."""
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and tree.func.attr in RESHAPED:
        return tree.func.value if syntax.base_of(tree.func.value) else None
    return None


def _copied(statement: ast.Assign, name: str, whole: ast.expr) -> tuple[ast.stmt, ast.stmt]:
    """Return the statements that copy a view, and that assign the copy back."""
    shown = ast.unparse(whole)
    place = shown if isinstance(whole, ast.Subscript) else f"{shown}[...]"
    made = ast.parse(f"{name} = {ast.unparse(statement.value)}.copy()\n{place} = {name}.reshape({shown}.shape)").body
    for each in made:
        for node in ast.walk(each):
            syntax.at_place(node, statement)
    return made[0], made[1]


def _uses(trees: Sequence[ast.AST]) -> Counter[str]:
    return Counter(node.id for each in trees for node in ast.walk(each) if isinstance(node, ast.Name))
