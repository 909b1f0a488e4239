"""Hoist index checks out of loops: check once before a loop instead of at every element.

An index past the end raises, as in Python. A check at every element prevents vectorisation, so where the source shows
which indices a loop uses, they are checked before its first iteration::

    for j in range(n):                      i_, last = i, before(n)
        y[i, j] = x[i, j] + 1               wraps = fits(0, n, x, (i_, 0), (i_, last), y, (i_, 0), (i_, last))
                                            for j_ in range(0, n):
                                                j = j_
                                                store(y, (i_, j_), load(x, (i_, j_), wraps, 0b01) + 1, wraps, 0b01)

This applies to every access that each iteration makes, if the loop does not assign the array and the indices are affine
in the loop's counter. All other accesses are checked one by one.

The indices of an unchecked access use only names that the rewritten code assigns once: those that were checked, and the
counter of the loop. Python's own compiler determines what a loop assigns.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Mapping, Sequence, Set

from pykernels.kernel.expression.promotion import COPY, LIMIT, names_in
from pykernels.kernel.numba.rewriting.iterations import PART

#: Names in the rewritten code. If there are any iterations, ``fits(start, stop, array, first, last, ...)`` raises
#: `IndexError` unless each array has both indices, and thus all between them. It returns whether any index is negative
#: and so counts from the end. ``before(stop)`` is the last iteration. ``load(array, index, wraps, axes)`` and
#: ``store(array, index, value, wraps, axes)`` do not check. The low bits of `axes` mark the axes whose index may be
#: negative; those from `COMPUTED` on mark the axes whose index is computed from numbers that may be NumPy's.
FITS, BEFORE, LOAD, STORE = (f"__pykernels_{name}__" for name in ("fits", "before", "load", "store"))
COMPUTED = 32

# With slopes below this limit and the number of iterations that `fits` allows, no index between the first and the last
# overflows.
_LARGEST_SLOPE = 1 << 12

_Statements = Sequence[ast.stmt]


def hoist_checks(definition: ast.FunctionDef, uncertain: Set[str] = frozenset()) -> ast.FunctionDef:
    """Move the checks of a function's loops before the loops, as far as the source allows.

    `uncertain` are its variables that may be read before they have a value; only an iteration may read them.
    """
    parameters = definition.args
    local = {each.arg for each in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)}
    local |= _assigned(definition.body)
    if any(name.startswith((LIMIT, COPY)) for name in local):
        return definition
    hoisted = _Hoister(local, uncertain).visit(definition)
    assert isinstance(hoisted, ast.FunctionDef)
    return hoisted


class _Hoister(ast.NodeTransformer):
    """Moves checks before loops; `local` are the names that the function assigns, `uncertain` may lack a value."""

    def __init__(self, local: set[str], uncertain: Set[str]) -> None:
        self._local = local
        self._uncertain = uncertain
        self._count = 0

    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)  # inner loops first
        limits = _limits(node)
        if limits is None or _may_leave(node.body):
            return node
        assert isinstance(node.target, ast.Name)
        counter, assigned = node.target.id, _assigned(node.body)
        if counter in assigned:
            return node
        changing = {counter, *assigned}
        proven = {ast.dump(access): access for access in _certain(node.body) if _is_even(access, counter, changing)}
        if not proven:
            return node
        self._count += 1
        start, stop, last, own = (f"{LIMIT}{what}_{self._count}__" for what in ("start", "stop", "last", "counter"))
        begins, ends = (ast.Name(name, ast.Load()) for name in (start, stop))
        wraps = ast.Name(f"__pykernels_wraps_{self._count}__", ast.Load())
        used = {name for access in proven.values() for name in names_in(access.slice)}
        copies = {name: f"{COPY}{self._count}_{name}" for name in sorted(used & self._local - {counter})}
        places: list[ast.expr] = []
        for access in proven.values():
            first, final = (_renamed(access, {**copies, counter: end}) for end in (start, last))
            places += [first.value, first.slice, final.slice]
        copied = {name: _assign(new, ast.Name(name, ast.Load())) for name, new in copies.items()}
        late = [copied.pop(name) for name in copies if name in self._uncertain]
        check: list[ast.stmt] = [*late, _assign(wraps.id, _call(FITS, begins, ends, *places))]
        if self._uncertain & {name for access in proven.values() for name in names_in(access)} or any(
            _is_computed(index, {counter}) for access in proven.values() for index in _indices(access.slice)
        ):
            # Check only if there are iterations: otherwise computing with NumPy's numbers may raise, and reading a
            # variable without a value does.
            check = [
                _assign(wraps.id, ast.Constant(False)),
                ast.If(ast.Compare(begins, [ast.Lt()], [ends]), check, []),
            ]
        node.iter.args = [begins, ends]  # type: ignore[attr-defined]
        unchecked = {text: _renamed(access, {**copies, counter: own}) for text, access in proven.items()}
        rewriter = _Unchecked(unchecked, wraps, own, starts_natural=_is_natural(limits[0], set()))
        node.body = [_assign(counter, ast.Name(own, ast.Load())), *map(rewriter.visit, node.body)]
        node.target.id = own
        before: list[ast.stmt] = [
            _assign(start, limits[0]),
            _assign(stop, limits[1]),
            _assign(last, _call(BEFORE, ends)),
            *copied.values(),
            *check,
        ]
        ast.copy_location(node.body[0], node)
        return [ast.copy_location(statement, node) for statement in before] + [node]


class _Unchecked(ast.NodeTransformer):
    """Replaces accesses that are proven to be in bounds with calls that do not check.

    `proven` maps the text of each access in the kernel to the access that replaces it.
    """

    def __init__(
        self, proven: Mapping[str, ast.Subscript], wraps: ast.Name, counter: str, *, starts_natural: bool
    ) -> None:
        self._proven = proven
        self._wraps = wraps
        self._counter = {counter}
        self._natural = self._counter if starts_natural else set()

    def _axes(self, index: ast.expr) -> ast.Constant:
        """Return the `axes` argument of `load` and `store`, which saves them a test at every element."""
        bits = 0
        for axis, number in enumerate(_indices(index)):
            bits |= (not _is_natural(number, self._natural)) << axis
            bits |= _is_computed(number, self._counter) << COMPUTED + axis
        return ast.Constant(bits)

    def _made_of(self, node: ast.AST) -> ast.Subscript | None:
        """Return the access that replaces one in the kernel; None if that one stays checked."""
        return self._proven.get(ast.dump(_as_load(node))) if isinstance(node, ast.Subscript) else None

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        access = self._made_of(node)
        if isinstance(node.ctx, ast.Load) and access is not None:
            return self._loaded(access)
        self.generic_visit(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        access = self._made_of(node.targets[0])
        return self._stored(node, access, node.value) if len(node.targets) == 1 and access is not None else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        access = self._made_of(node.target)
        if access is None:
            return node
        value = ast.BinOp(self._loaded(access), node.op, node.value)
        return self._stored(node, access, ast.copy_location(value, node))

    def _loaded(self, access: ast.Subscript) -> ast.expr:
        call = _call(LOAD, access.value, access.slice, self._wraps, self._axes(access.slice))
        return ast.copy_location(call, access)

    def _stored(self, node: ast.stmt, access: ast.Subscript, value: ast.expr) -> ast.stmt:
        call = _call(STORE, access.value, access.slice, value, self._wraps, self._axes(access.slice))
        return ast.copy_location(ast.Expr(ast.copy_location(call, node)), node)


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [copy.deepcopy(argument) for argument in arguments], [])


def _limits(loop: ast.For) -> tuple[ast.expr, ast.expr] | None:
    """Return the start and stop of ``for j in range(...)`` if it counts up by 1, otherwise None."""
    call = loop.iter
    if not isinstance(loop.target, ast.Name) or loop.orelse or not isinstance(call, ast.Call) or call.keywords:
        return None
    if not isinstance(call.func, ast.Name) or call.func.id != "range" or not 1 <= len(call.args) <= 2:
        return None
    start = call.args[0] if len(call.args) == 2 else ast.Constant(0)
    return start, call.args[-1]


def _may_leave(body: _Statements) -> bool:
    """Whether an iteration may leave the body early without an exception."""
    return any(
        isinstance(node, (ast.Break, ast.Continue, ast.Return, ast.Try)) for stmt in body for node in ast.walk(stmt)
    )


def _assigned(body: _Statements) -> set[str]:
    """Return the names that statements assign or delete, as determined by Python's own compiler."""
    module = ast.parse("def run(): pass")
    module.body[0].body = copy.deepcopy(list(body))  # type: ignore[attr-defined]
    code = compile(ast.fix_missing_locations(module), "<loop>", "exec")
    (run,) = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return {*run.co_varnames, *run.co_cellvars}


def _certain(body: _Statements) -> list[ast.Subscript]:
    """Return the accesses that every pass through `body` makes."""
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
    """Whether the array of `access` stays the same and its indices are affine in the counter."""
    slopes = (_slope(index, counter, changing) for index in _indices(access.slice))
    return (
        isinstance(access.value, ast.Name)
        and access.value.id not in changing
        and all(slope is not None and abs(slope) < _LARGEST_SLOPE for slope in slopes)
    )


def _slope(index: ast.expr, counter: str, changing: set[str]) -> int | None:
    """Return the constant by which an index grows with each iteration; None if it is not constant."""
    if isinstance(index, ast.Name) and index.id == counter:
        return 1
    if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.Add, ast.Sub)):
        left, right = (_slope(side, counter, changing) for side in (index.left, index.right))
        if left is None or right is None:
            return None
        return left + right if isinstance(index.op, ast.Add) else left - right
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Mult):
        for factor, other in ((index.left, index.right), (index.right, index.left)):
            slope = _slope(other, counter, changing)
            if isinstance(factor, ast.Constant) and type(factor.value) is int and slope is not None:
                return factor.value * slope
    return 0 if _is_fixed(index, changing) else None


def _is_fixed(index: ast.expr, changing: set[str]) -> bool:
    """Whether an expression is a number that the loop does not change, and has no side effects."""
    if isinstance(index, ast.Constant):
        return type(index.value) is int
    if isinstance(index, ast.Name):
        return index.id not in changing
    if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.Add, ast.Sub, ast.Mult)):
        return _is_fixed(index.left, changing) and _is_fixed(index.right, changing)
    return False


def _is_natural(index: ast.expr, names: set[str]) -> bool:
    """Whether the source shows that an expression is not negative, given that `names` are not."""
    if isinstance(index, ast.Constant):
        return type(index.value) is int and index.value >= 0
    if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.Add, ast.Mult)):
        return _is_natural(index.left, names) and _is_natural(index.right, names)
    if isinstance(index, ast.Call):
        return isinstance(index.func, ast.Name) and index.func.id == PART
    return isinstance(index, ast.Name) and index.id in names


def _is_computed(index: ast.expr, counters: set[str]) -> bool:
    """Whether an index is computed from numbers other than a counter and literals."""
    return isinstance(index, ast.BinOp) and not counters.issuperset(names_in(index))


def _renamed(access: ast.Subscript, names: Mapping[str, str]) -> ast.Subscript:
    """Return a copy of an access with other names."""

    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.copy_location(ast.Name(names.get(node.id, node.id), node.ctx), node)

    renamed = Rename().visit(copy.deepcopy(access))
    assert isinstance(renamed, ast.Subscript)
    return renamed
