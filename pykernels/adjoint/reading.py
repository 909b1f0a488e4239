"""Read the functions of a kernel file into a graph."""

from __future__ import annotations

import ast
import copy
import inspect
import itertools
import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pykernels.adjoint import blocks, scattering, syntax
from pykernels.adjoint.expressions import ExpressionReader, read
from pykernels.adjoint.histories import with_histories
from pykernels.adjoint.inlining import syntax_of, with_helpers
from pykernels.adjoint.nodes import Graph, Node, in_order, is_floating, is_list, makes_zeros
from pykernels.adjoint.views import RESHAPED, without_views
from pykernels.base.errors import KernelError

# A loop of more turns is not written out.
_MOST_TURNS = 16
# What a statement is, and what to write instead.
_REFUSED = {
    ast.While: ("a `while`", "write `for`"),
    ast.If: ("an `if`", "write np.where, or `a if condition else b`"),
    ast.Expr: ("a call whose result is not used", "make an array, and assign to its elements"),
}


def read_function(
    graph: Graph, function: types.FunctionType, arguments: Sequence[Node], named: Mapping[str, Node]
) -> Node:
    """Return the result of a function of the user's for nodes as arguments.

    This raises `KernelError`, with the line, if the function has statements of which no gradient is derived.
    """
    tree = syntax_of(function)
    try:
        bound = inspect.signature(function).bind(*arguments, **named)
    except TypeError as error:
        raise KernelError(f"{function.__code__.co_filename}: {function.__name__}: {error}") from None
    bound.apply_defaults()
    outs = bound.arguments.get("outs")
    passed = {value for value in bound.arguments.values() if isinstance(value, Node)}
    reader = Reader(graph, function, outs.operands if isinstance(outs, Node) else (), passed)
    for name, value in bound.arguments.items():
        reader.names[name] = value if isinstance(value, Node) else reader.constant(value)
    statements = without_views(with_helpers(tree, function, graph.histories))
    result = reader.body(tree, statements)
    if list(map(ast.dump, statements)) != list(map(ast.dump, tree.body)):
        _check_helpers(function, bound.arguments, result)
    return result


def _check_helpers(function: types.FunctionType, arguments: Mapping[str, Any], result: Node) -> None:
    """Raise `KernelError` if a function gives other results than its statements with those of its helpers."""
    for sample, expected in enumerate(result.values):
        given = {
            name: copy.deepcopy(each.values[sample]) if isinstance(each, Node) else each
            for name, each in arguments.items()
        }
        with np.errstate(all="ignore"):
            found = function(**given)
        found = given.get("outs", ()) if found is None else found
        pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
        if not all(np.array_equal(a, b, equal_nan=True) for a, b in pairs):
            place = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
            raise KernelError(
                f"{place}: {function.__name__} has no derived gradient: its helpers change what their arguments are "
                "computed from; write their statements in it"
            )


def _has_no_effect(statement: ast.stmt) -> bool:
    """Whether a statement only documents or refuses arguments."""
    if isinstance(statement, ast.If):
        return syntax.only_raises(statement)
    return syntax.is_text(statement) or isinstance(statement, (ast.Pass, ast.Assert))


def _share(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether arrays may lie in the same memory."""
    arrays, others = ([each for each in values if isinstance(each, np.ndarray)] for values in (a, b))
    return any(np.may_share_memory(array, other) for array, other in itertools.product(arrays, others))


class Reader(ExpressionReader):
    """Reads the statements of a function, which may write its results into the arrays `outs`."""

    def __init__(
        self,
        graph: Graph,
        function: types.FunctionType | None,
        outs: Sequence[Node] = (),
        passed: Collection[Node] = (),
    ) -> None:
        super().__init__(graph, function)
        self._outs = list(outs)
        self._passed = passed

    def body(self, tree: ast.FunctionDef, statements: Sequence[ast.stmt]) -> Node:
        """Return the result of a function with these statements."""
        rest = list(statements)
        while rest:
            if isinstance(rest[0], ast.Return):
                if rest[0].value is None:
                    raise self.refuse(rest[0], "it returns nothing")
                return self.expression(rest[0].value)
            length = self._length_of_block(rest)
            if self._scatters(rest[0], rest[:length], rest[1:]):
                length = 1
            elif length:
                self._block(rest[:length], rest[length:])
            else:
                self._statement(rest[0])
            del rest[: max(1, length)]
        if self._outs:
            return self._graph.tuple(self._outs)
        raise self.refuse(tree, "it returns nothing")

    def _length_of_block(self, statements: Sequence[ast.stmt]) -> int:
        """Return how many statements are a block, up to the last loop and the last assignment to elements."""

        def is_part(statement: ast.stmt) -> bool:
            return isinstance(statement, ast.For) or syntax.assigns_elements(statement)

        first = statements[0]
        if not is_part(first) or (not syntax.assigns_elements(first) and self._turns(first)):
            return 0
        ends = (at for at, each in enumerate(statements) if isinstance(each, ast.Return) or self._is_scattering(each))
        end = next(ends, len(statements))
        return 1 + max(at for at in range(end) if is_part(statements[at]))

    def _is_scattering(self, statement: ast.stmt) -> bool:
        """Whether a statement calls `np.add.at` for an array that has a name."""
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith(".add.at"):
            return False
        is_plain = len(call.args) == 3 and not call.keywords and isinstance(call.args[0], ast.Name)
        return is_plain and bool(self._callee(call.func) == np.add.at)

    def _scatters(self, statement: ast.stmt, block: Sequence[ast.stmt], later: Sequence[ast.stmt]) -> bool:
        """Read a statement that adds to elements, or gives zeros other values, beside no loop, as an expression.

        Returns whether it is one.
        """
        target: ast.expr | None = None
        if isinstance(statement, ast.Expr) and self._is_scattering(statement):
            assert isinstance(statement.value, ast.Call)
            array, index, value = statement.value.args
            target = ast.copy_location(ast.Subscript(array, index, ast.Load()), statement)
        elif isinstance(statement, (ast.Assign, ast.AugAssign)) and not any(syntax.loops_of(block)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            target, value = targets[0] if len(targets) == 1 else None, statement.value
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            return False
        name, selected = target.value.id, self.expression(target)
        before = self.names[name]
        if selected.op != "getitem" or selected.operands[0] is not before or not all(map(is_floating, before.values)):
            return False
        made = self._with_elements(statement, selected, self.expression(value))
        if made is None:
            return False
        self._check_owned(statement, name, later)
        made.name, made.place = made.name or name, made.place or self._place(statement)
        self._replace(before, made)
        return True

    def _with_elements(self, statement: ast.stmt, selected: Node, values: Node) -> Node | None:
        """Return the array of the elements `selected` as a statement leaves it; None if that is no expression."""
        may_repeat = any(map(is_list, selected.operands[1:]))
        if isinstance(statement, ast.Assign):
            return None if may_repeat else scattering.assigned(self._graph, selected, values)
        if isinstance(statement, ast.AugAssign):
            if may_repeat or not isinstance(statement.op, (ast.Add, ast.Sub)):
                return None
            if isinstance(statement.op, ast.Sub):
                values = read(self._graph, "-values", values=values)
        more = scattering.scattered(self._graph, selected, values)
        before = selected.operands[0]
        return more if makes_zeros(before.form) else scattering.added(self._graph, before, more)

    def _block(self, statements: Sequence[ast.stmt], later: Sequence[ast.stmt]) -> None:
        try:
            plain = blocks.normalised(statements)
        except blocks.Unknown as unknown:
            why = f"{unknown.args[1]} has no derived gradient beside loops; assign to variables and their elements"
            raise self.refuse(unknown.args[0], why) from None
        body = with_histories(plain, self._function, self._graph.histories, self.names, later)
        stored = syntax.stored(body)
        used = (stored | syntax.loaded(body)) & self.names.keys()
        reads = tuple(name for name in self.names if name in used)
        bound = syntax.assigned(each for each in body if not isinstance(each, (ast.For, ast.If)))
        leaves = tuple(sorted(syntax.assigned(body) & (used | bound | syntax.loaded(later))))
        block = blocks.Block(tuple(body), reads, leaves, self._function)
        for name in block.changed & used:
            self._check_owned(statements[0], name, later)
        try:
            left = self._graph.block(block, [self.names[name] for name in reads])
        except Exception as error:
            raise self.refuse(statements[0], f"it raises {type(error).__name__}: {error}") from None
        if body != plain and not self._is_alike(replace(block, statements=tuple(plain)), left):
            raise self.refuse(
                statements[0],
                "a variable that its loops change in each turn changes its shape or dtype, or has elements of others",
            )
        for name, node in left.items():
            if node.operands[0].active:
                self.require_real(statements[0], node.values, name)
            node.name = name
            node.place = node.operands[0].place = self._place(statements[0])
            if name in block.changed & used and isinstance(node.values[0], np.ndarray):
                self._replace(self.names[name], node)
            self.names[name] = node

    def _is_alike(self, block: blocks.Block, left: Mapping[str, Node]) -> bool:
        """Whether a block leaves the same values."""
        names = [name for name in block.leaves if name in syntax.assigned(block.statements)]
        run = replace(block, leaves=tuple(names)).compiled(self._graph.namespace)
        operands = next(iter(left.values())).operands[0].operands
        results = (run(*values) for values in zip(*(each.values for each in operands)))
        found = zip(*(left[name].values for name in names))
        return all(np.array_equal(a, b, equal_nan=True) for pair in zip(results, found) for a, b in zip(*pair))

    def _replace(self, before: Node, after: Node) -> None:
        """Let an array have new elements under all its names, and the array that it is a view of, too."""
        self.names |= {name: after for name, node in self.names.items() if node is before}
        self._outs = [after if node is before else node for node in self._outs]
        if before.op in RESHAPED:
            whole = before.operands[0]
            self._replace(whole, read(self._graph, "view.reshape(whole.shape)", view=after, whole=whole))

    def _check_owned(self, place: ast.stmt, name: str, later: Sequence[ast.stmt]) -> None:
        """Raise `KernelError` if an array that a block changes shares its elements with others."""
        node = whole = self.names[name]
        while whole.op in RESHAPED:
            whole = whole.operands[0]
        if node.op == "tuple" and node.active:
            raise self.refuse(place, f"it assigns to elements of {name}, a tuple; unpack it before")
        if not isinstance(node.values[0], np.ndarray):
            return
        others = [each for operand in whole.operands for each in operand.values]
        if whole.op == "input" or whole in self._passed or _share(whole.values, others):
            raise self.refuse(place, f"it assigns to elements of {name}, which belong to another array; copy it before")
        for other in sorted(syntax.loaded(later) & self.names.keys()):
            part = self.names[other]
            if part not in (node, whole) and _share(node.values, part.values):
                raise self.refuse(place, f"it assigns to elements of {name}, which {other} has, too; copy one of them")

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            value = self.expression(statement.value)
            for target in statement.targets:
                self._assign(target, value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign(statement.target, self.expression(statement.value))
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            left = ast.Name(statement.target.id, ast.Load())
            self._assign(statement.target, self.expression(ast.BinOp(left, statement.op, statement.value)))
        elif isinstance(statement, ast.For) and (items := self._turns(statement)):
            for item in items:
                self._assign(statement.target, item)
                for each in statement.body:
                    self._statement(each)
        elif not _has_no_effect(statement):
            what, cure = _REFUSED.get(type(statement), ("this statement", "use expressions"))
            raise self.refuse(statement, f"{what} has no derived gradient; {cure}")

    def _turns(self, loop: ast.stmt) -> Sequence[Node]:
        """Return what a loop goes through if that is written in place and short; no items if it is not."""
        if not isinstance(loop, ast.For) or loop.orelse:
            return ()
        given = self.expression(loop.iter)
        items: Sequence[Node] = given.operands
        if given.op != "tuple":
            leaves = {node.op for node in in_order([given]) if not node.operands}
            if not leaves <= {"number", "constant"} or not isinstance(given.values[0], range):
                return ()
            items = [self._graph.node("number", ast.Constant(n)) for n in given.values[0][: _MOST_TURNS + 1]]
        return items if len(items) <= _MOST_TURNS else ()

    def _assign(self, target: ast.expr, value: Node) -> None:
        if isinstance(target, ast.Name):
            if not value.name and value.operands and value.op != "tuple":
                value.name = target.id
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = self._items(target, value)
            for each, item in zip(target.elts, items, strict=True):
                self._assign(each, item)
        else:
            raise self.refuse(target, "this assignment has no derived gradient")

    def _items(self, target: ast.Tuple | ast.List, value: Node) -> Sequence[Node]:
        if value.op == "tuple" and len(value.operands) == len(target.elts):
            return value.operands
        is_array = all(isinstance(each, np.ndarray) and len(each) == len(target.elts) for each in value.values)
        if not is_array and (value.active or not isinstance(value.values[0], tuple)):
            raise self.refuse(target, "what is unpacked here is not a tuple of as many values")
        return [read(self._graph, f"value[{at}]", value=value) for at in range(len(target.elts))]

    def inlined(self, function: types.FunctionType, operands: Sequence[Node], named: Mapping[str, Node]) -> Node:
        """Return the result of a function of the user's."""
        return read_function(self._graph, function, operands, named)
