"""Put the statements of helpers that write into arrays in the place of their calls."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pykernels.adjoint import syntax
from pykernels.adjoint.histories import CALL, Histories
from pykernels.adjoint.views import is_view
from pykernels.base.errors import KernelError
from pykernels.kernel.read.ownership import is_users


def syntax_of(function: types.FunctionType) -> ast.FunctionDef:
    """Return the syntax of a function. This raises `KernelError` if there is no source of it."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError):
        tree = None
    if not isinstance(tree, ast.FunctionDef):
        raise KernelError(
            f"{function.__name__} has no source to read: define it with `def`, in a file or a cell of a notebook"
        )
    return tree


def with_helpers(tree: ast.FunctionDef, function: types.FunctionType, histories: Histories) -> list[ast.stmt]:
    """Return the statements of a function with those of its helpers.

    Calls of helpers whose results are not used become the statements of the helpers; so do calls that `histories` names
    by their lines. Calls of helpers that only check their arguments are left out.

    Raises
    ------
    KernelError
        The statements of a helper have another meaning at the place of the call.
    """
    own = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} | syntax.stored(tree.body)
    lines = {line for of, line, variable in histories if of is function and variable == CALL}
    inliner = _Inliner(own, own | syntax.loaded(tree.body), lines)
    return [made for each in tree.body for made in inliner.statement(each, [function])]


class _Inliner:
    def __init__(self, own: set[str], taken: set[str], lines: set[int]) -> None:
        # The variables of the function, and all names in it.
        self._own, self._taken = own, taken
        self._lines = lines

    def statement(self, statement: ast.stmt, functions: Sequence[types.FunctionType]) -> Iterator[ast.stmt]:
        """Yield a statement of the last of some functions, each of which calls the next one."""
        if isinstance(statement, (ast.For, ast.If)):
            made = copy.copy(statement)
            made.body, made.orelse = (
                [made for each in branch for made in self.statement(each, functions)]
                for branch in (statement.body, statement.orelse)
            )
            made.body = made.body or [ast.Pass()]
            yield made
            return
        helper = self._helper(statement, functions[-1])
        if helper is None or (not isinstance(statement, ast.Expr) and statement.lineno not in self._lines):
            yield statement
        elif not isinstance(statement, ast.Expr) or _has_effect(helper):
            for each in self._inlined(statement, helper, functions):
                yield from self.statement(each, [*functions, helper])

    def _helper(self, statement: ast.stmt, function: types.FunctionType) -> types.FunctionType | None:
        """Return the function of the user's that a statement calls, or None."""
        call = statement.value if isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign)) else None
        if not isinstance(call, ast.Call):
            return None
        path = ast.unparse(call.func).split(".")
        found = None if path[0] in self._own else function.__globals__.get(path[0])
        for name in path[1:]:
            found = getattr(found, name, None)
        return found if isinstance(found, types.FunctionType) and is_users(found.__globals__) else None

    def _inlined(
        self, statement: ast.stmt, helper: types.FunctionType, functions: Sequence[types.FunctionType]
    ) -> Iterator[ast.stmt]:
        assert isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign)) and isinstance(statement.value, ast.Call)
        body = [each for each in _syntax_at(helper, statement).body if not syntax.is_text(each)]
        last = body.pop() if body and isinstance(body[-1], ast.Return) else None
        result = last.value if isinstance(last, ast.Return) else None
        self._check(statement, helper, functions, body, result)
        names: dict[str, ast.expr] = {}
        for parameter, argument in _arguments(statement.value, helper).items():
            if _stands_for(argument, parameter, [*body, *filter(None, [result])]):
                names[parameter] = argument
            elif not is_view(argument) and parameter in {
                syntax.base_of(node) for node in _nodes(body) if syntax.is_stored(node)
            }:
                why = f"it assigns to elements of {parameter}, for which it must get a variable or a part of one"
                raise _refused(statement, helper, functions, f"{why}, not {ast.unparse(argument)}")
            else:
                names[parameter] = own = self._new(parameter)
                made = ast.Assign([ast.Name(own.id, ast.Store())], argument)
                yield ast.fix_missing_locations(ast.copy_location(made, statement))
        names = {**{name: self._new(name) for name in sorted(syntax.stored(body) - names.keys())}, **names}
        yield from (syntax.renamed(each, names) for each in body)
        if not isinstance(statement, ast.Expr) and result is not None:
            changed = copy.copy(statement)
            changed.value = syntax.renamed(result, names)
            yield changed

    def _check(
        self,
        statement: ast.stmt,
        helper: types.FunctionType,
        functions: Sequence[types.FunctionType],
        body: Sequence[ast.stmt],
        result: ast.expr | None,
    ) -> None:
        """Raise `KernelError` if the statements of a helper cannot stand in the place of its call."""
        parameters, nodes = inspect.signature(helper).parameters, _nodes(body)
        known = {node.id for node in nodes if isinstance(node, ast.Name)} - syntax.stored(body) - parameters.keys()
        here, there = functions[0].__globals__, helper.__globals__
        others = [name for name in sorted(known) if name in self._own or here.get(name) is not there.get(name)]
        summed = [
            node.target.id
            for node in nodes
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in parameters
        ]
        why = ""
        if helper in functions:
            why = "it calls itself"
        elif any(isinstance(node, (ast.Return, ast.FunctionDef, ast.Lambda)) for node in nodes):
            why = "it returns in the middle, or defines a function; write its statements in its place"
        elif not isinstance(statement, ast.Expr) and result is None:
            why = "it returns nothing"
        elif summed:
            why = f"`{summed[0]} += ...` changes its parameter; assign to {summed[0]}[:], or to another variable"
        elif others:
            why = f"{others[0]} stands for something else where it is called; write its statements there"
        if why:
            raise _refused(statement, helper, functions, why)

    def _new(self, name: str) -> ast.Name:
        found = syntax.new_name(name, self._taken)
        self._taken.add(found)
        self._own.add(found)
        return ast.Name(found, ast.Load())


def _refused(
    call: ast.stmt, helper: types.FunctionType, functions: Sequence[types.FunctionType], why: str
) -> KernelError:
    code = functions[0].__code__
    place = getattr(call, syntax.PLACE, f"{code.co_filename}:{code.co_firstlineno + call.lineno - 1}")
    return KernelError(f"{place}: the call of {helper.__name__} has no derived gradient: {why}")


def _nodes(trees: Sequence[ast.AST]) -> list[ast.AST]:
    return [node for each in trees for node in ast.walk(each)]


def _syntax_at(helper: types.FunctionType, call: ast.stmt) -> ast.FunctionDef:
    """Return the syntax of a helper, all of which is at the line of a call, and says where it stands."""
    tree, code = syntax_of(helper), helper.__code__
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)):
            setattr(node, syntax.PLACE, f"{code.co_filename}:{code.co_firstlineno + node.lineno - 1}")
            ast.copy_location(node, call)
    return tree


def _arguments(call: ast.Call, helper: types.FunctionType) -> Mapping[str, ast.expr]:
    """Return the arguments of a call by the names of the parameters."""
    named = {str(each.arg): each.value for each in call.keywords}
    try:
        bound: Mapping[str, Any] = inspect.signature(helper).bind(*call.args, **named).arguments
    except TypeError as error:
        raise KernelError(f"{helper.__code__.co_filename}: {helper.__name__}: {error}") from None
    defaults = {
        name: ast.parse(repr(each.default), mode="eval").body
        for name, each in inspect.signature(helper).parameters.items()
        if name not in bound
    }
    return {**bound, **defaults}


def _stands_for(argument: ast.expr, parameter: str, body: Sequence[ast.AST]) -> bool:
    """Whether an argument can stand in the place of a parameter: a variable, a number, or a part of an array."""
    nodes = _nodes(body)
    names = {node for node in nodes if isinstance(node, ast.Name) and node.id == parameter}
    if any(isinstance(name.ctx, ast.Store) for name in names):
        return False
    has_parts = any(isinstance(node, (ast.Subscript, ast.Attribute)) and node.value in names for node in nodes)
    is_passed_on = any(isinstance(node, ast.Call) and not names.isdisjoint(node.args) for node in nodes)
    return isinstance(argument, (ast.Name, ast.Constant)) or (
        (has_parts or is_passed_on) and bool(syntax.base_of(argument))
    )


def _has_effect(helper: types.FunctionType) -> bool:
    """Whether a helper does more than check its arguments."""
    nodes = _nodes(syntax_of(helper).body)
    changes = (ast.Return, ast.Delete, ast.AugAssign)
    calls = (node for node in nodes if isinstance(node, ast.Expr) and not syntax.is_text(node))
    return any(calls) or any(isinstance(node, changes) or syntax.is_stored(node) for node in nodes)
