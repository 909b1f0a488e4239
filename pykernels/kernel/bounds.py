"""Checks of indices, made once before a loop instead of at every element.

An index past the end raises, as it does in Python. A check at every element keeps LLVM from computing several elements
at once, so where the text shows which indices a loop will use, they are checked before its first iteration::

    for j in range(n):                      if 0 < n:
        y[i, j] = x[i, j] + 1                   wraps = fits(x, (i, 0), (i, n - 1)) | fits(y, (i, 0), (i, n - 1))
                                            for j in range(n):
                                                store(y, (i, j), load(x, (i, j), ...) + 1, ...)

That is so for every access that each iteration makes, to an array that the loop does not assign, at whole numbers that
grow or shrink evenly with the loop's counter. All other accesses are checked one by one.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

from pykernels.kernel.iterations import PART

__all__ = ["FITS", "LOAD", "STORE", "hoist_checks"]

#: Names in the rewritten code: ``fits(array, first, last, n)`` raises `IndexError` unless the array has both indices,
#: and thus all of the `n` between them, and tells whether any is negative, so that it counts from the end;
#: ``load(array, index, wraps)`` and ``store(array, index, value, wraps)`` do not check. `wraps` tells for each axis
#: whether an index may be negative.
FITS, LOAD, STORE = "__pykernels_fits__", "__pykernels_load__", "__pykernels_store__"

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
        start, stop = (f"__pykernels_{end}_{self._count}__" for end in ("start", "stop"))
        begins, ends = ast.Name(start, ast.Load()), ast.Name(stop, ast.Load())
        count = ast.BinOp(ends, ast.Sub(), begins)
        last = ast.BinOp(ends, ast.Sub(), ast.Constant(1))
        wraps = ast.Name(f"__pykernels_wraps_{self._count}__", ast.Load())
        checks = [
            _call(FITS, access.value, *(_at(access.slice, node.target.id, end) for end in (begins, last)), count)
            for access in proven.values()
        ]
        checked: ast.expr = checks[0]
        for check in checks[1:]:
            checked = ast.BinOp(checked, ast.BitOr(), check)
        node.iter.args = [begins, ends]  # type: ignore[attr-defined]
        from_zero = {node.target.id} if _is_natural(limits[0], set()) else set()
        rewriter = _Unchecked(set(proven), wraps, from_zero)
        node.body = [rewriter.visit(statement) for statement in node.body]
        before: list[ast.stmt] = [
            ast.Assign([ast.Name(start, ast.Store())], limits[0]),
            ast.Assign([ast.Name(stop, ast.Store())], limits[1]),
            ast.Assign([ast.Name(wraps.id, ast.Store())], ast.Constant(False)),
            ast.If(
                ast.Compare(begins, [ast.Lt()], [ends]),
                [ast.Assign([ast.Name(wraps.id, ast.Store())], checked)],
                [],
            ),
        ]
        return [ast.copy_location(statement, node) for statement in before] + [node]


class _Unchecked(ast.NodeTransformer):
    """Makes accesses that are proven to fit into calls that do not check."""

    def __init__(self, proven: set[str], wraps: ast.Name, from_zero: set[str]) -> None:
        self._proven = proven
        self._wraps = wraps
        self._from_zero = from_zero

    def _may_wrap(self, index: ast.expr) -> ast.Tuple:
        """For each axis, whether the index may be negative: what LLVM need not ask at every element."""
        known = (_is_natural(i, self._from_zero) for i in _indices(index))
        return ast.Tuple([ast.Constant(False) if is_known else self._wraps for is_known in known], ast.Load())

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
        return ast.copy_location(_call(LOAD, node.value, node.slice, self._may_wrap(node.slice)), node)

    def _stored(self, node: ast.stmt, target: ast.Subscript, value: ast.expr) -> ast.stmt:
        call = _call(STORE, target.value, target.slice, value, self._may_wrap(target.slice))
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


def _at(index: ast.expr, counter: str, value: ast.expr) -> ast.expr:
    """An index with the counter replaced by a number."""

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(value) if node.id == counter else node

    replaced = Replace().visit(copy.deepcopy(index))
    assert isinstance(replaced, ast.expr)
    return replaced
