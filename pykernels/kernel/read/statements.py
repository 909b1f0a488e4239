"""Write statements in forms that every kernel has, with the same meaning.

- ``*lead, last = x.shape`` becomes slices and an index of a tuple;
- ``y = (t := x.sum()) * x`` becomes ``t = x.sum()`` and ``y = t * x``;
- ``with np.errstate(divide="ignore"):`` becomes its body, since kernels give no warnings;
- a short list that is only read, or changed at known places outside of loops, becomes a tuple: ``shape[1] = -1`` after
  ``shape = list(x.shape)``.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.kernel.read.constants import whole_number

# The prefix of names of tuples that are unpacked, and of places that must exist.
_WHOLE, _PLACE = "__pykernels_whole_", "__pykernels_place_"
_LOOPS = (ast.For, ast.While)
# Where another name may get its value at another time, or none.
_APART = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.BoolOp, ast.IfExp)
# Functions of Python's that take lists as they take tuples.
_ALIKE = {"len", "tuple", "list", "sum", "max", "min", "enumerate", "zip", "reversed"}


def simplify(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> ast.FunctionDef:
    """Change `definition`; return it.

    Parameters
    ----------
    namespace : mapping
        The values of the module's names.
    """
    simplifier = _Simplifier(definition, namespace)
    definition.body = simplifier.statements(definition.body)
    return definition


class _Simplifier:
    def __init__(self, definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._counter = itertools.count()
        self._as_tuples = _tuples(definition)

    def statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [each for statement in body for each in self._simplified(statement)]

    def _simplified(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        for field in ("body", "orelse", "finalbody"):
            if isinstance(getattr(statement, field, None), list):
                setattr(statement, field, self.statements(getattr(statement, field)))
        if isinstance(statement, ast.With) and self._is_silent(statement):
            yield from statement.body
            return
        for named in _hoisted(statement):
            yield _placed(ast.Assign([copy.deepcopy(named.target)], named.value), statement)
        changed = _changed_tuple(statement, self._as_tuples, f"{_PLACE}{next(self._counter)}")
        if changed:
            yield from (_placed(each, statement) for each in changed)
        elif isinstance(statement, ast.Assign) and self._is_unpacked(statement):
            yield from (_placed(each, statement) for each in self._unpacked(statement))
        else:
            yield statement

    def _is_silent(self, statement: ast.With) -> bool:
        """Whether a `with` only turns off warnings of NumPy's."""
        first, *others = statement.items
        call = first.context_expr
        if others or first.optional_vars or not isinstance(call, ast.Call) or call.args:
            return False
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_numpys = isinstance(owner, ast.Name) and self._namespace.get(owner.id) is np
        values = [each.value.value if isinstance(each.value, ast.Constant) else None for each in call.keywords]
        return is_numpys and ast.unparse(call.func).endswith(".errstate") and {*values} <= {"ignore", "warn"}

    def _is_unpacked(self, statement: ast.Assign) -> bool:
        target = statement.targets[0]
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) and len(statement.targets) == 1 else []
        starred = [part.value for part in parts if isinstance(part, ast.Starred)]
        return len(starred) == 1 and isinstance(starred[0], ast.Name) and starred[0].id in self._as_tuples

    def _unpacked(self, statement: ast.Assign) -> Iterator[ast.stmt]:
        """Yield assignments to the parts of a target, one of which has a star."""
        (target,) = statement.targets
        assert isinstance(target, (ast.Tuple, ast.List))
        first = next(at for at, part in enumerate(target.elts) if isinstance(part, ast.Starred))
        last = len(target.elts) - first - 1
        whole, rest = (f"{_WHOLE}{next(self._counter)}" for _ in range(2))
        yield ast.Assign([ast.Name(whole, ast.Store())], statement.value)
        yield ast.Assign([ast.Name(rest, ast.Store())], _parsed(f"{whole}[{first}:]"))
        for at, part in enumerate(target.elts):
            if isinstance(part, ast.Starred):
                yield ast.Assign([part.value], _parsed(f"{rest}[:-{last}]" if last else rest))
            else:
                # A tuple that is too short lacks one of these.
                place = f"{whole}[{at}]" if at < first else f"{rest}[{at - first - 1 - last}]"
                yield ast.Assign([part], _parsed(place))


def _hoisted(statement: ast.stmt) -> list[ast.NamedExpr]:
    """Return the assignments within an expression that may come before its statement; names take their places."""
    field = "test" if isinstance(statement, ast.If) else "value"
    is_plain = isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr, ast.If))
    expression = getattr(statement, field, None) if is_plain else None
    if expression is None or any(
        isinstance(inner, ast.NamedExpr)
        for each in ast.walk(expression)
        if isinstance(each, _APART)
        for inner in ast.walk(each)
    ):
        return []
    # The target of ``y += ...`` is read first.
    hoister = _Hoister(_names(statement.target) if isinstance(statement, ast.AugAssign) else set())
    setattr(statement, field, hoister.visit(expression))
    return hoister.found


class _Hoister(ast.NodeTransformer):
    """Replaces ``(name := value)`` by ``name``, in the order of evaluation, unless the name was read before."""

    def __init__(self, read: set[str]) -> None:
        self.found: list[ast.NamedExpr] = []
        self._read = read

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        self.generic_visit(node)
        if node.target.id in self._read:
            return node
        self.found.append(node)
        return ast.copy_location(ast.Name(node.target.id, ast.Load()), node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            self._read.add(node.id)
        return node


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _tuples(definition: ast.FunctionDef) -> set[str]:
    """Return the names of lists that may be tuples instead."""
    parents = {id(child): node for node in ast.walk(definition) for child in ast.iter_child_nodes(node)}
    in_loops = {id(inner) for each in ast.walk(definition) if isinstance(each, _LOOPS) for inner in ast.walk(each)}
    found = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and _is_made(parents, node)}
    for node in ast.walk(definition):
        if isinstance(node, ast.Name) and node.id in found:
            if isinstance(node.ctx, ast.Load):
                is_alike = _is_read_alike(parents, node) or (_is_change(parents, node) and id(node) not in in_loops)
            else:
                is_alike = _is_made(parents, node)
            if not is_alike:
                found.discard(node.id)
    return found


def _is_made(parents: Mapping[int, ast.AST], node: ast.Name) -> bool:
    """Whether a list gets its name here: by a star, or from a display or `list`."""
    parent = parents.get(id(node))
    if isinstance(node.ctx, ast.Load):
        return False
    if isinstance(parent, ast.Starred):
        return isinstance(parents.get(id(parents.get(id(parent)))), ast.Assign)
    return isinstance(parent, ast.Assign) and parent.targets == [node] and _as_tuple(parent.value) is not None


def _as_tuple(value: ast.expr) -> ast.expr | None:
    """Return a tuple with the members of a new list; None if it is none, or nothing is gained."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) and isinstance(value.left, ast.List):
        return ast.BinOp(ast.Tuple(value.left.elts, ast.Load()), ast.Mult(), value.right)
    if isinstance(value, ast.List):
        return ast.Tuple(value.elts, ast.Load())
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "list":
        given = value.args[0] if len(value.args) == 1 else None
        if isinstance(given, ast.Attribute) and given.attr == "shape":
            return given
        if isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id == "range":
            return ast.Call(ast.Name("tuple", ast.Load()), [given], [])
    return None


def _is_read_alike(parents: Mapping[int, ast.AST], node: ast.Name) -> bool:
    """Whether a list is read where a tuple with its members gives the same."""
    parent: Any = parents.get(id(node))
    if isinstance(parent, ast.keyword):
        parent = parents.get(id(parent))
    if isinstance(parent, ast.Call) and parent.func is not node:
        return isinstance(parent.func, ast.Attribute) or (
            isinstance(parent.func, ast.Name) and parent.func.id in _ALIKE
        )
    if isinstance(parent, ast.Subscript):
        return parent.value is node and isinstance(parent.ctx, ast.Load)
    return isinstance(parent, ast.Starred) or (isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node)


def _is_change(parents: Mapping[int, ast.AST], node: ast.Name) -> bool:
    parent: Any = parents.get(id(node))
    statement = parents.get(id(parent))
    if isinstance(parent, ast.Attribute):
        statement = parents.get(id(statement))
    return isinstance(statement, ast.stmt) and bool(_changed_tuple(statement, {node.id}, _PLACE))


def _changed_tuple(statement: ast.stmt, names: set[str], place: str) -> list[ast.stmt]:
    """Return statements that make a tuple anew in place of one that makes or changes a list; none for all others."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        (target,) = statement.targets
        if isinstance(target, ast.Name) and target.id in names:
            made = _as_tuple(statement.value)
            return [ast.Assign([target], made)] if made else []
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id in names:
            name, at = target.value.id, whole_number(target.slice)
            if at is None:
                return []
            after = f" + {name}[{at + 1}:]" if at != -1 else ""
            made = _parsed(f"{name}[:{at}] + ({place},){after}")
            # The place must exist.
            return [
                ast.Expr(_parsed(f"len(({name}[{at}],))")),
                ast.Assign([ast.Name(place, ast.Store())], statement.value),
                ast.Assign([ast.Name(name, ast.Store())], made),
            ]
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.keywords:
        return []
    owner, method = call.func.value, call.func.attr
    if not isinstance(owner, ast.Name) or owner.id not in names or not call.args:
        return []
    given, name = call.args[-1], owner.id
    at = whole_number(call.args[0]) if method == "insert" and len(call.args) == 2 else None
    if method == "append" and len(call.args) == 1:
        made = _parsed(f"{name} + ({place},)")
    elif at is not None:
        made = _parsed(f"{name}[:{at}] + ({place},) + {name}[{at}:]")
    else:
        return []
    return [ast.Assign([ast.Name(place, ast.Store())], given), ast.Assign([ast.Name(name, ast.Store())], made)]


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _placed(statement: ast.stmt, original: ast.stmt) -> ast.stmt:
    """Return a statement with the place of another one, but for those parts that the other one has."""
    kept = {id(node) for node in ast.walk(original)}
    for node in ast.walk(statement):
        if id(node) not in kept:
            ast.copy_location(node, original)
    return statement
