"""Read the functions of a kernel file into a graph."""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import inspect
import math
import textwrap
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pykernels.adjoint.moves import RULES
from pykernels.adjoint.nodes import Graph, Node, in_order, placeholder
from pykernels.adjoint.recognition import recognised
from pykernels.adjoint.rules import beside
from pykernels.adjoint.simplify import simplified
from pykernels.base.errors import KernelError
from pykernels.kernel.expression import operations
from pykernels.kernel.read.ownership import is_users

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
# A loop of more turns is not written out.
_MOST_TURNS = 16
# What a statement is, and what to write instead.
_LOOP = ("a loop", f"write it with arrays, or over a range or tuple of at most {_MOST_TURNS} items, in place")
_REFUSED = {ast.For: _LOOP, ast.While: _LOOP, ast.If: ("an `if`", "write np.where")}
# Attributes of arrays that do not depend on the elements.
_FACTS = frozenset({"shape", "ndim", "size", "dtype", "itemsize", "nbytes"})


def read_function(
    graph: Graph, function: types.FunctionType, arguments: Sequence[Node], named: Mapping[str, Node]
) -> Node:
    """Return the result of a function of the user's for nodes as arguments.

    This raises `KernelError`, with the line, if the function has statements of which no gradient is derived.
    """
    tree = _syntax(function)
    try:
        bound = inspect.signature(function).bind(*arguments, **named)
    except TypeError as error:
        raise KernelError(f"{function.__code__.co_filename}: {function.__name__}: {error}") from None
    bound.apply_defaults()
    reader = _Reader(graph, function)
    for name, value in bound.arguments.items():
        reader.names[name] = value if isinstance(value, Node) else reader.constant(value)
    return reader.body(tree)


def _syntax(function: types.FunctionType) -> ast.FunctionDef:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError):
        tree = None
    if not isinstance(tree, ast.FunctionDef):
        raise KernelError(
            f"{function.__name__} has no source to read: define it with `def`, in a file or a cell of a notebook"
        )
    return tree


def read(graph: Graph, text: str, **names: Node) -> Node:
    """Return the node of an expression of `names`, simplified."""
    reader = _Reader(graph, None)
    reader.names = dict(names)
    return reader.expression(ast.parse(text, mode="eval").body)


class _Reader:
    def __init__(self, graph: Graph, function: types.FunctionType | None) -> None:
        self.names: dict[str, Node] = {}
        self._graph = graph
        self._function = function
        self._globals = graph.namespace if function is None else function.__globals__
        self._first = 1 if function is None else function.__code__.co_firstlineno

    def constant(self, value: Any) -> Node:
        """Return the node of a value that is known, such as the default of a parameter."""
        return self._graph.node("constant", ast.parse(repr(value), mode="eval").body)

    # ---- statements

    def body(self, tree: ast.FunctionDef) -> Node:
        """Return the result of a function."""
        for statement in tree.body:
            if isinstance(statement, ast.Return):
                if statement.value is None:
                    raise self._refuse(statement, "it returns nothing")
                return self.expression(statement.value)
            self._statement(statement)
        raise self._refuse(tree, "it returns nothing: a function that writes into `outs` has no derived gradient")

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
        elif isinstance(statement, ast.For) and not statement.orelse and (items := self._written_out(statement.iter)):
            for item in items:
                self._assign(statement.target, item)
                for each in statement.body:
                    self._statement(each)
        elif not self._has_no_effect(statement):
            what, cure = _REFUSED.get(type(statement), ("this statement", "use expressions"))
            raise self._refuse(statement, f"{what} has no derived gradient; {cure}")

    def _written_out(self, tree: ast.expr) -> Sequence[Node]:
        """Return what a loop goes through if that is written in place and short; no items if it is not."""
        given = self.expression(tree)
        items: Sequence[Node] = given.operands
        if given.op != "tuple":
            leaves = {node.op for node in in_order([given]) if not node.operands}
            if not leaves <= {"number", "constant"} or not isinstance(given.values[0], range):
                return ()
            items = [self._graph.node("number", ast.Constant(n)) for n in given.values[0][: _MOST_TURNS + 1]]
        return items if len(items) <= _MOST_TURNS else ()

    @staticmethod
    def _has_no_effect(statement: ast.stmt) -> bool:
        """Whether a statement only documents or refuses arguments."""
        if isinstance(statement, ast.If):
            return not statement.orelse and all(isinstance(each, ast.Raise) for each in statement.body)
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        return is_text or isinstance(statement, (ast.Pass, ast.Assert))

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
            raise self._refuse(
                target, "an assignment to elements has no derived gradient; write np.where or np.concatenate"
            )

    def _items(self, target: ast.Tuple | ast.List, value: Node) -> Sequence[Node]:
        if value.op == "tuple" and len(value.operands) == len(target.elts):
            return value.operands
        if value.active or not isinstance(value.values[0], tuple):
            raise self._refuse(target, "what is unpacked here is not a tuple of as many values")
        return [read(self._graph, f"value[{at}]", value=value) for at in range(len(target.elts))]

    # ---- expressions

    def expression(self, tree: ast.expr) -> Node:
        """Return the node of an expression."""
        reads: Mapping[type[ast.expr], Callable[[Any], Node]] = {
            ast.Constant: lambda tree: self._graph.node("number" if _is_number(tree.value) else "constant", tree),
            ast.Name: self._name,
            ast.Tuple: lambda tree: self._graph.tuple([self.expression(each) for each in tree.elts]),
            ast.List: lambda tree: self._graph.tuple([self.expression(each) for each in tree.elts]),
            ast.BinOp: self._binary,
            ast.UnaryOp: self._unary,
            ast.Compare: self._compare,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.Call: self._call,
        }
        return reads.get(type(tree), self._other)(tree)

    def _make(self, tree: ast.expr, op: str, form: ast.expr, operands: Sequence[Node], arguments: Any = None) -> Node:
        simple = simplified(functools.partial(read, self._graph), op, operands)
        if simple is not None:
            return simple
        op, arguments = recognised(op, operands) or (op, arguments)
        try:
            node = self._graph.node(op, form, operands, arguments)
        except Exception as error:
            raise self._refuse(tree, f"{ast.unparse(tree)} raises {type(error).__name__}: {error}") from None
        node.place = node.place or self._place(tree)
        return node

    def _name(self, tree: ast.Name) -> Node:
        if tree.id in self.names:
            return self.names[tree.id]
        if tree.id not in self._globals and not hasattr(builtins, tree.id):
            raise self._refuse(tree, f"{tree.id} is not defined")
        if tree.id in self._globals:
            self._graph.namespace.setdefault(tree.id, self._globals[tree.id])
        return self._graph.node("constant", ast.Name(tree.id, ast.Load()))

    def _binary(self, tree: ast.BinOp) -> Node:
        operands = [self.expression(tree.left), self.expression(tree.right)]
        form = ast.BinOp(placeholder(0), tree.op, placeholder(1))
        if isinstance(tree.op, ast.MatMult):
            return self._make(tree, "matmul", form, operands, dict(zip(("a", "b"), operands)))
        return self._make(tree, operations.BINARY[type(tree.op)].name, form, operands)

    def _unary(self, tree: ast.UnaryOp) -> Node:
        operand = self.expression(tree.operand)
        if isinstance(tree.op, ast.USub) and isinstance(operand.form, ast.Constant) and operand.number is not None:
            return self._graph.node("number", ast.UnaryOp(tree.op, operand.form))
        return self._make(tree, operations.UNARY[type(tree.op)].name, ast.UnaryOp(tree.op, placeholder(0)), [operand])

    def _compare(self, tree: ast.Compare) -> Node:
        operands = [self.expression(each) for each in (tree.left, *tree.comparators)]
        form = ast.Compare(placeholder(0), tree.ops, [placeholder(at) for at in range(1, len(operands))])
        return self._make(tree, "compare", form, operands)

    def _attribute(self, tree: ast.Attribute) -> Node:
        if self._is_of_module(tree):
            return self._graph.node("constant", tree)
        operand = self.expression(tree.value)
        form = ast.Attribute(placeholder(0), tree.attr, ast.Load())
        op = "transpose" if tree.attr == "T" else ""
        if not op and tree.attr not in _FACTS and operand.active:
            raise self._refuse(tree, f"the attribute {tree.attr} of an array has no derived gradient")
        return self._make(tree, op, form, [operand], {"a": operand} if op else None)

    def _subscript(self, tree: ast.Subscript) -> Node:
        base = self.expression(tree.value)
        operands = [base]
        if base.op == "tuple" and isinstance(tree.slice, ast.Constant) and isinstance(tree.slice.value, int):
            return base.operands[tree.slice.value]

        def index(part: ast.expr) -> ast.expr:
            if isinstance(part, ast.Tuple):
                return ast.Tuple([index(each) for each in part.elts], ast.Load())
            if isinstance(part, ast.Slice):
                return ast.Slice(
                    *(None if each is None else index(each) for each in (part.lower, part.upper, part.step))
                )
            if isinstance(part, ast.Constant):
                return part
            operands.append(self.expression(part))
            return placeholder(len(operands) - 1)

        form = ast.Subscript(placeholder(0), index(tree.slice), ast.Load())
        return self._make(tree, "getitem", form, operands, {"a": base})

    def _call(self, tree: ast.Call) -> Node:
        if any(isinstance(each, ast.Starred) for each in tree.args) or any(each.arg is None for each in tree.keywords):
            raise self._refuse(tree, "a call with * or ** has no derived gradient; write the arguments out")
        operands = [self.expression(each) for each in tree.args]
        named = {str(each.arg): self.expression(each.value) for each in tree.keywords}
        function = self._callee(tree.func)
        if function is None:
            assert isinstance(tree.func, ast.Attribute)
            return self._called(
                tree, tree.func.attr, [self.expression(tree.func.value), *operands], named, is_method=True
            )
        if isinstance(function, types.FunctionType) and is_users(function.__globals__):
            return read_function(self._graph, function, operands, named)
        found = operations.find(function)
        name = found.name if found else getattr(function, "__name__", "")
        return self._called(tree, name, operands, named, is_method=False)

    def _called(
        self, tree: ast.Call, name: str, operands: Sequence[Node], named: Mapping[str, Node], *, is_method: bool
    ) -> Node:
        everything = [*operands, *named.values()]
        func: ast.expr = tree.func
        if is_method:
            assert isinstance(func, ast.Attribute)
            func = ast.Attribute(placeholder(0), func.attr, ast.Load())
        if name == "split" and everything[0].active:
            return self._split(tree, operands, named)
        form = ast.Call(
            func,
            [placeholder(at) for at in range(int(is_method), len(operands))],
            [ast.keyword(key, placeholder(len(operands) + at)) for at, key in enumerate(named)],
        )
        if name == "transpose" and len(operands) > 2:  # axes one by one, as the method takes them
            return self._called(tree, name, [operands[0], self._graph.tuple(operands[1:])], named, is_method=is_method)
        rule = RULES.get(name)
        arguments = None if rule is None else rule.bind(operands, named)
        is_known = arguments is not None or (name in operations.OPERATIONS and not named)
        return self._make(tree, name if is_known else "", form, everything, arguments)

    def _split(self, tree: ast.Call, operands: Sequence[Node], named: Mapping[str, Node]) -> Node:
        """Return the sections of an array as slices, whose gradients are assignments to slices."""
        given = {**dict(zip(("ary", "sections", "axis"), operands)), **named}
        array, sections = given["ary"], given.get("sections", given.get("indices_or_sections"))
        axis = given["axis"].values[0] if "axis" in given else 0
        if (
            sections is None
            or not isinstance(sections.number, int)
            or not isinstance(axis, int)
            or len(array.ndims) > 1 > -axis
        ):
            raise self._refuse(
                tree, "np.split has a derived gradient for a number of sections along an axis from the end"
            )
        before, after = beside(axis)
        length = read(self._graph, f"a.shape[{axis}] // n", a=array, n=sections)
        length.name = length.name or "length"
        items = []
        for at in range(sections.number):
            begin = "" if at == 0 else "n" if at == 1 else f"{at} * n"
            end = "" if at == sections.number - 1 else "n" if at == 0 else f"{at + 1} * n"
            items.append(read(self._graph, f"a[{before}{begin}:{end}{after}]", a=array, n=length))
        return self._graph.tuple(items)

    def _callee(self, tree: ast.expr) -> Any:
        """Return the function that an expression names; None for a method of a value."""
        if isinstance(tree, ast.Name) and tree.id not in self.names:
            node = self._name(tree)
            return node.values[0]
        if isinstance(tree, ast.Attribute) and self._is_of_module(tree):
            return self._graph.node("constant", tree).values[0]
        if isinstance(tree, ast.Attribute):
            return None
        raise self._refuse(tree, f"the call of {ast.unparse(tree)} has no derived gradient")

    def _is_of_module(self, tree: ast.Attribute) -> bool:
        root: ast.expr = tree
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.names:
            return False
        self._name(root)
        value = self._globals.get(root.id)
        return isinstance(value, (types.ModuleType, type)) or not hasattr(value, "__array__")

    def _other(self, tree: ast.expr) -> Node:
        """Return the node of an expression that stays as it is, such as a comprehension over axes."""
        used = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in self.names]
        names = list(dict.fromkeys(used))
        operands = [self.names[name] for name in names]
        order = {name: placeholder(at).id for at, name in enumerate(names)}

        class Renamer(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.Name:
                return ast.Name(order.get(node.id, node.id), node.ctx)

        node = self._make(tree, "", Renamer().visit(copy.deepcopy(tree)), operands)
        if node.active:
            kind = "a comprehension over arrays" if isinstance(tree, _COMPREHENSIONS) else f"{ast.unparse(tree)}"
            raise self._refuse(tree, f"{kind} has no derived gradient; write the parts out")
        return node

    def _refuse(self, tree: ast.AST, why: str) -> KernelError:
        place = self._place(tree)
        return KernelError(f"{place}: {why}" if place else why)

    def _place(self, tree: ast.AST) -> str:
        if self._function is None:
            return ""
        return f"{self._function.__code__.co_filename}:{self._first + getattr(tree, 'lineno', 1) - 1}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
