"""Checks of indices, made once before a loop instead of at every element.

An index past the end raises, as it does in Python. A check at every element keeps LLVM from computing several elements
at once, so where the text shows which indices a loop will use, they are checked before its first iteration::

    for j in range(n):                      last = before(n)
        y[i, j] = x[i, j] + 1               wraps = fits(0, n, x, (i, 0), (i, last), y, (i, 0), (i, last))
                                            for j in range(0, n):
                                                store(y, (i, j), load(x, (i, j), wraps, 0b01) + 1, wraps, 0b01)

That is so for every access that each iteration makes, to an array that the loop does not assign, at whole numbers that
grow or shrink evenly with the loop's counter. All other accesses are checked one by one.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

from pykernels.kernel.iterations import PART

__all__ = ["BEFORE", "COMPUTED", "FITS", "LIMIT", "LOAD", "STORE", "hoist_checks"]

#: Names in the rewritten code. ``fits(start, stop, array, first, last, ...)`` raises `IndexError` unless each array has
#: both indices, and thus all between them, if there are any iterations, and tells whether any is negative, so that it
#: counts from the end; ``before(stop)`` is the last iteration. ``load(array, index, wraps, axes)`` and
#: ``store(array, index, value, wraps, axes)`` do not check. The bits of `axes` tell of which axes an index may be
#: negative, and those from `COMPUTED` on, of which it is computed from numbers that may be NumPy's.
FITS, BEFORE, LOAD, STORE = (f"__pykernels_{name}__" for name in ("fits", "before", "load", "store"))
COMPUTED = 32
#: What the names of a loop's limits begin with, which are Python's numbers, as its counter is.
LIMIT = "__pykernels_limit_"

# With factors below this, and the number of iterations that `fits` allows, no index between the first and the last
# overflows.
_LARGEST_FACTOR = 1 << 12

_Statements = Sequence[ast.stmt]


def hoist_checks(definition: ast.FunctionDef) -> ast.FunctionDef:
    """The function with the checks of its loops moved before them, as far as the text allows."""
    hoisted = _Hoister().visit(definition)
    assert isinstance(hoisted, ast.FunctionDef)
    return hoisted


class _Hoister(ast.NodeTransformer):
    def __init__(self) -> None:
        self._count = 0

    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)  # inner loops first
        limits = _limits(node)
        if limits is None or _may_leave(node.body):
            return node
        assert isinstance(node.target, ast.Name)
        changing = {node.target.id, *_assigned(node.body)}
        proven = {
            ast.dump(access): access for access in _certain(node.body) if _is_even(access, node.target.id, changing)
        }
        if not proven:
            return node
        self._count += 1
        start, stop, last = (f"{LIMIT}{end}_{self._count}__" for end in ("start", "stop", "last"))
        begins, ends, final = (ast.Name(name, ast.Load()) for name in (start, stop, last))
        wraps = ast.Name(f"__pykernels_wraps_{self._count}__", ast.Load())
        places: list[ast.expr] = []
        for access in proven.values():
            places += [access.value, *(_at(access.slice, node.target.id, end) for end in (begins, final))]
        check: list[ast.stmt] = [ast.Assign([ast.Name(wraps.id, ast.Store())], _call(FITS, begins, ends, *places))]
        if any(_is_computed(index, {node.target.id}) for access in proven.values() for index in _indices(access.slice)):
            # Numbers of NumPy's may raise when they meet limits of no iterations.
            check = [
                ast.Assign([ast.Name(wraps.id, ast.Store())], ast.Constant(False)),
                ast.If(ast.Compare(begins, [ast.Lt()], [ends]), check, []),
            ]
        node.iter.args = [begins, ends]  # type: ignore[attr-defined]
        rewriter = _Unchecked(set(proven), wraps, node.target.id, starts_natural=_is_natural(limits[0], set()))
        node.body = [rewriter.visit(statement) for statement in node.body]
        before: list[ast.stmt] = [
            ast.Assign([ast.Name(start, ast.Store())], limits[0]),
            ast.Assign([ast.Name(stop, ast.Store())], limits[1]),
            ast.Assign([ast.Name(last, ast.Store())], _call(BEFORE, ends)),
            *check,
        ]
        return [ast.copy_location(statement, node) for statement in before] + [node]


class _Unchecked(ast.NodeTransformer):
    """Makes accesses that are proven to fit into calls that do not check."""

    def __init__(self, proven: set[str], wraps: ast.Name, counter: str, *, starts_natural: bool) -> None:
        self._proven = proven
        self._wraps = wraps
        self._counter = {counter}
        self._natural = self._counter if starts_natural else set()

    def _axes(self, index: ast.expr) -> ast.Constant:
        """What `load` and `store` are told of each axis, so that they need not ask at every element."""
        bits = 0
        for axis, number in enumerate(_indices(index)):
            bits |= (not _is_natural(number, self._natural)) << axis
            bits |= _is_computed(number, self._counter) << COMPUTED + axis
        return ast.Constant(bits)

    def _is_proven(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Subscript) and ast.dump(_as_load(node)) in self._proven

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and self._is_proven(node):
            return self._loaded(node)
        self.generic_visit(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Subscript) and self._is_proven(target):
            return self._stored(node, target, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        target = node.target
        if isinstance(target, ast.Subscript) and self._is_proven(target):
            old = self._loaded(target)
            return self._stored(node, target, ast.copy_location(ast.BinOp(old, node.op, node.value), node))
        return node

    def _loaded(self, node: ast.Subscript) -> ast.expr:
        return ast.copy_location(_call(LOAD, node.value, node.slice, self._wraps, self._axes(node.slice)), node)

    def _stored(self, node: ast.stmt, target: ast.Subscript, value: ast.expr) -> ast.stmt:
        call = _call(STORE, target.value, target.slice, value, self._wraps, self._axes(target.slice))
        return ast.copy_location(ast.Expr(ast.copy_location(call, node)), node)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [copy.deepcopy(argument) for argument in arguments], [])


def _limits(loop: ast.For) -> tuple[ast.expr, ast.expr] | None:
    """Where the counter of ``for j in range(...)`` begins and ends, if it counts up by 1."""
    call = loop.iter
    if not isinstance(loop.target, ast.Name) or loop.orelse or not isinstance(call, ast.Call) or call.keywords:
        return None
    if not isinstance(call.func, ast.Name) or call.func.id != "range" or not 1 <= len(call.args) <= 2:
        return None
    start = call.args[0] if len(call.args) == 2 else ast.Constant(0)
    return start, call.args[-1]


def _may_leave(body: _Statements) -> bool:
    """Whether an iteration may end before the end of the body without an exception."""
    return any(
        isinstance(node, (ast.Break, ast.Continue, ast.Return, ast.Try)) for stmt in body for node in ast.walk(stmt)
    )


def _assigned(body: _Statements) -> Iterator[str]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                yield node.id


def _certain(body: _Statements) -> list[ast.Subscript]:
    """The accesses that every pass through `body` makes."""
    found: list[ast.Subscript] = []
    for statement in body:
        if isinstance(statement, ast.If):
            found += _accesses(statement.test)
            others = {ast.dump(access) for access in _certain(statement.orelse)}
            found += [access for access in _certain(statement.body) if ast.dump(access) in others]
        elif isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)):
            found += _accesses(statement)
    return found


def _accesses(node: ast.AST) -> list[ast.Subscript]:
    if isinstance(node, ast.IfExp):
        others = {ast.dump(access) for access in _accesses(node.orelse)}
        return _accesses(node.test) + [access for access in _accesses(node.body) if ast.dump(access) in others]
    if isinstance(node, ast.BoolOp):
        return _accesses(node.values[0])
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return []
    found = [access for child in ast.iter_child_nodes(node) for access in _accesses(child)]
    return [*found, _as_load(node)] if isinstance(node, ast.Subscript) else found


def _as_load(node: ast.Subscript) -> ast.Subscript:
    return ast.copy_location(ast.Subscript(node.value, node.slice, ast.Load()), node)


def _indices(index: ast.expr) -> list[ast.expr]:
    return index.elts if isinstance(index, ast.Tuple) else [index]


def _is_even(access: ast.Subscript, counter: str, changing: set[str]) -> bool:
    """Whether `access` is to an array that stays the same, at indices that are affine in the counter."""
    return (
        isinstance(access.value, ast.Name)
        and access.value.id not in changing
        and all(_is_affine(index, counter, changing) for index in _indices(access.slice))
    )


def _is_affine(index: ast.expr, counter: str, changing: set[str]) -> bool:
    if isinstance(index, ast.Name) and index.id == counter:
        return True
    if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.Add, ast.Sub)):
        return all(_is_affine(side, counter, changing) for side in (index.left, index.right))
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Mult):
        sides = (index.left, index.right)
        factors = [side.value for side in sides if isinstance(side, ast.Constant)]
        if any(isinstance(factor, int) and abs(factor) < _LARGEST_FACTOR for factor in factors):
            return all(_is_affine(side, counter, changing) for side in sides)
    return _is_fixed(index, changing)


def _is_fixed(index: ast.expr, changing: set[str]) -> bool:
    """Whether an expression is a number that the loop does not change, and is found without side effects."""
    if isinstance(index, ast.Constant):
        return type(index.value) is int
    if isinstance(index, ast.Name):
        return index.id not in changing
    if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.Add, ast.Sub, ast.Mult)):
        return _is_fixed(index.left, changing) and _is_fixed(index.right, changing)
    return False


def _is_natural(index: ast.expr, names: set[str]) -> bool:
    """Whether the text shows that an expression is not negative; `names` are not."""
    if isinstance(index, ast.Constant):
        return type(index.value) is int and index.value >= 0
    if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.Add, ast.Mult)):
        return _is_natural(index.left, names) and _is_natural(index.right, names)
    if isinstance(index, ast.Call):
        return isinstance(index.func, ast.Name) and index.func.id == PART
    return isinstance(index, ast.Name) and index.id in names


def _is_computed(index: ast.expr, counters: set[str]) -> bool:
    """Whether an index is computed from other numbers than a counter and those in the text."""
    names = {node.id for node in ast.walk(index) if isinstance(node, ast.Name)}
    return isinstance(index, ast.BinOp) and not names <= counters


def _at(index: ast.expr, counter: str, value: ast.expr) -> ast.expr:
    """An index with the counter replaced by a number."""

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(value) if node.id == counter else node

    replaced = Replace().visit(copy.deepcopy(index))
    assert isinstance(replaced, ast.expr)
    return replaced
