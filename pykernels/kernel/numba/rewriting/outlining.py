"""Divide a kernel into functions: its straight-line code, which may be fused, and all else.

::

    def forward(args):                          def forward(args):
        x, m = args                                 x, m = args
        y = np.sort(x * m + 1)         becomes      (t,) = lines_0(x, m)    # t = x * m + 1
        return np.tanh(y) / y                       ...

Values of an expression that a function is called with, and its result, get names, so that arithmetic with them is code
of its own. Matrix products, too, which no fused kernel has.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from pykernels.kernel.expression.promotion import NUMBER, is_weak

#: The prefix of names of values within an expression.
_VALUE = "__pykernels_value_"
# What is computed as a whole, since some of its parts may not be computed at all.
_WHOLE = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.NamedExpr)
# Those that bind names of their own.
_SCOPES = (ast.Lambda, ast.comprehension, ast.NamedExpr)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign)


@dataclass(frozen=True)
class Lines:
    """Statements without branches.

    Attributes
    ----------
    statements : list of ast.stmt
        Assignments to names.
    taken, given : tuple of str
        The names that they read, and those that the rest of the function reads.
    """

    statements: list[ast.stmt]
    taken: tuple[str, ...]
    given: tuple[str, ...]


def outline(
    definition: ast.FunctionDef, weak: Collection[str], call: Callable[[Lines], str], at_least: int
) -> ast.FunctionDef:
    """Change `definition`: calls replace straight-line code; return it.

    Parameters
    ----------
    weak : collection of str
        The names of Python numbers.
    call : callable
        Returns the name of the function for the lines.
    at_least : int
        The number of operations that is worth a function.
    """
    if any(name == "random" or isinstance(node, ast.Global) for node in ast.walk(definition) for name in _names(node)):
        return definition  # draws have an order
    numbers = itertools.count()
    for block in _blocks(definition.body):
        block[:] = [each for statement in block for each in _Separation(frozenset(weak), numbers).separate(statement)]
    local = {each.arg for each in (*definition.args.args, *definition.args.kwonlyargs)} | stored(definition)
    for block in _blocks(definition.body):
        made: list[ast.stmt] = []
        for lines in _runs(block):
            is_alone = not _is_line(lines[0]) or (len(lines) == 1 and block is not definition.body)
            if is_alone or count_operations(lines) < at_least:
                made += lines
                continue
            taken = reads(lines) & local
            # In a loop, the lines come after themselves.
            needed = _names_outside(definition, lines) | (set() if block is definition.body else taken)
            given = tuple(sorted({name for each in lines for name in stored(each)} & needed))
            name = call(Lines(lines, tuple(sorted(taken)), given))
            replaced = call_of(name, tuple(sorted(taken)), given, weak)
            made += [ast.copy_location(each, lines[0]) for each in replaced]
        block[:] = made
    return definition


def _blocks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Yield statements, and those of loops that have no index: loops over elements are numba's."""
    yield body
    for statement in body:
        has_index = any(isinstance(node, ast.Subscript) for node in ast.walk(statement))
        if isinstance(statement, (ast.For, ast.While)) and not has_index:
            yield from _blocks(statement.body)


def _names_outside(definition: ast.FunctionDef, lines: Sequence[ast.stmt]) -> set[str]:
    """Return the names in a function, except in some of its statements."""
    inside = {id(node) for each in lines for node in ast.walk(each)}
    return {node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and id(node) not in inside}


def call_of(name: str, taken: Sequence[str], given: Sequence[str], weak: Collection[str]) -> list[ast.stmt]:
    """Return the statements that assign what a function gives; numbers get their names from names of numbers."""
    call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(each, ast.Load()) for each in taken], [])
    names = [f"{NUMBER}{each}" if each in weak else each for each in given]
    target = ast.Tuple([ast.Name(each, ast.Store()) for each in names], ast.Store())
    renamed = [
        ast.Assign([ast.Name(each, ast.Store())], ast.Name(name, ast.Load()))
        for each, name in zip(given, names)
        if each != name
    ]
    return [ast.Assign([target], call) if given else ast.Expr(call), *renamed]


def count_operations(statements: Sequence[ast.stmt]) -> int:
    """Return the number of operators and calls in statements."""
    kinds = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.AugAssign)
    return sum(isinstance(node, kinds) for statement in statements for node in ast.walk(statement))


def stored(statement: ast.AST) -> set[str]:
    """Return the names that a statement assigns."""
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def reads(statements: Sequence[ast.stmt]) -> set[str]:
    """Return the names whose values statements take from before them."""
    taken, known = set[str](), set[str]()
    for statement in statements:
        loaded = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if isinstance(statement, ast.AugAssign):
            loaded |= stored(statement)
        taken |= loaded - known
        known |= stored(statement)
    return taken


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    if isinstance(node, ast.Attribute):
        yield node.attr


def _runs(body: Sequence[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Yield the statements: as long as possible, those that may be lines; one by one, the others."""
    run: list[ast.stmt] = []
    for statement in body:
        if _is_line(statement):
            run.append(statement)
            continue
        if run:
            yield run
        yield [statement]
        run = []
    if run:
        yield run


def _is_line(statement: ast.stmt) -> bool:
    """Whether a statement assigns a computed value to names, and fused kernels may compute it."""
    return _assigns_names(statement) and not any(isinstance(node, ast.MatMult) for node in ast.walk(statement))


def _assigns_names(statement: ast.stmt) -> bool:
    """Whether a statement assigns a computed value to names."""
    if not isinstance(statement, _SIMPLE) or statement.value is None:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if isinstance(statement.value, (ast.Name, ast.Tuple)) or any(isinstance(n, _SCOPES) for n in ast.walk(statement)):
        return False
    nodes = [node for target in targets for node in ast.walk(target)]
    return all(isinstance(node, (ast.Name, ast.Tuple, ast.Store)) for node in nodes)


class _Separation(ast.NodeTransformer):
    """Give names to the values in an expression that calls take and give."""

    def __init__(self, weak: frozenset[str], numbers: Iterator[int]) -> None:
        self._weak = weak
        self._numbers = numbers
        self._made: list[ast.stmt] = []

    def separate(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return statements for a statement, of which all but the last assign parts of its value."""
        if isinstance(statement, (*_SIMPLE, ast.Return)) and statement.value is not None:
            value = self._parts(statement.value)
            is_stored = isinstance(statement, ast.Return) or not _assigns_names(statement)
            if isinstance(value, ast.Tuple) and is_stored:
                value.elts = [self._named(element) for element in value.elts]
            elif is_stored or isinstance(statement, ast.AugAssign):
                value = self._named(value)
            statement.value = value
        return [*self._made, statement]

    def _parts(self, node: ast.expr) -> ast.expr:
        """Return an expression whose calls have names as arguments, and are named where they are not all of it."""
        if isinstance(node, _WHOLE) or is_weak(node, self._weak):
            return node
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and field not in ("func", "slice"):
                setattr(node, field, self._operand(node, value))
            elif isinstance(value, list):
                value[:] = [self._operand(node, each) if isinstance(each, ast.expr) else each for each in value]
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, (ast.Name, ast.Attribute)):
                node.func.value = self._named(self._parts(node.func.value))
            for keyword in node.keywords:
                keyword.value = self._operand(node, keyword.value)
        return node

    def _operand(self, node: ast.expr, operand: ast.expr) -> ast.expr:
        found = self._parts(operand)
        takes_values = isinstance(node, ast.Call) and not isinstance(operand, (ast.Tuple, ast.List, ast.Starred))
        is_product = isinstance(getattr(operand, "op", None), ast.MatMult)
        return self._named(found) if takes_values or is_product or isinstance(operand, ast.Call) else found

    def _named(self, node: ast.expr) -> ast.expr:
        """Return a name for the value of an expression, if it is the result of an operation on arrays."""
        is_computed = isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call))
        if not is_computed or is_weak(node, self._weak) or isinstance(getattr(node, "operand", None), ast.Constant):
            return node
        name = f"{_VALUE}{next(self._numbers)}"
        self._made.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], node), node))
        return ast.copy_location(ast.Name(name, ast.Load()), node)
