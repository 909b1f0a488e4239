"""Read expressions into a graph."""

from __future__ import annotations

import ast
import builtins
import functools
import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.adjoint.moves import RULES
from pykernels.adjoint.nodes import LIKE, Graph, Node, is_complex, makes_array, placeholder
from pykernels.adjoint.recognition import recognised
from pykernels.adjoint.rules import beside
from pykernels.adjoint.simplify import simplified
from pykernels.adjoint.syntax import PLACE, renamed
from pykernels.base.errors import KernelError
from pykernels.kernel.expression import operations
from pykernels.kernel.read.ownership import is_users

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
# Functions of Python that compare numbers, and the operations that they are.
_OF_NUMBERS = {max: "maximum", min: "minimum"}
#: Why complex numbers are refused, and what to do.
NO_COMPLEX = "gradients are derived for real numbers alone; write this one by hand (docs/writing_an_op.md)"
# Attributes of arrays that do not depend on the elements.
_FACTS = frozenset({"shape", "ndim", "size", "dtype", "itemsize", "nbytes"})


def read(graph: Graph, text: str, **names: Node) -> Node:
    """Return the node of an expression of `names`, simplified."""
    reader = ExpressionReader(graph, None)
    reader.names = dict(names)
    return reader.expression(ast.parse(text, mode="eval").body)


class ExpressionReader:
    """Reads expressions of the variables in `names`."""

    def __init__(self, graph: Graph, function: types.FunctionType | None) -> None:
        self.names: dict[str, Node] = {}
        self._graph = graph
        self._function = function
        self._globals = graph.namespace if function is None else function.__globals__
        self._first = 1 if function is None else function.__code__.co_firstlineno

    def constant(self, value: Any) -> Node:
        """Return the node of a value that is known, such as the default of a parameter."""
        return self._graph.node("constant", ast.parse(repr(value), mode="eval").body)

    def inlined(self, function: types.FunctionType, operands: Sequence[Node], named: Mapping[str, Node]) -> Node:
        """Return the result of a function of the user's, whose statements only `Reader` reads."""
        raise NotImplementedError

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
            ast.IfExp: self._choice,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.Call: self._call,
        }
        return reads.get(type(tree), self._other)(tree)

    def _make(self, tree: ast.expr, op: str, form: ast.expr, operands: Sequence[Node], arguments: Any = None) -> Node:
        simple = simplified(functools.partial(read, self._graph), op, operands, arguments or {})
        if simple is not None:
            return simple
        op, arguments = recognised(op, operands) or (op, arguments)
        try:
            # An array that is made at another place may be changed there.
            place = f"{self._place(tree)}:{tree.col_offset}" if makes_array(form) and self._function else ""
            node = self._graph.node(op, form, operands, arguments, place=place)
        except Exception as error:
            raise self.refuse(tree, f"{ast.unparse(tree)} raises {type(error).__name__}: {error}") from None
        node.place = node.place or self._place(tree)
        if any(operand.active for operand in operands):
            self.require_real(tree, node.values)
        return node

    def require_real(self, tree: ast.AST, values: Sequence[Any], name: str = "") -> None:
        """Raise `KernelError` if the values of an expression that depends on the arguments are complex."""
        if any(map(is_complex, values)):
            raise self.refuse(tree, f"{name or ast.unparse(tree)} is complex, and {NO_COMPLEX}")

    def _name(self, tree: ast.Name) -> Node:
        if tree.id in self.names:
            return self.names[tree.id]
        if tree.id not in self._globals and not hasattr(builtins, tree.id):
            raise self.refuse(tree, f"{tree.id} is not defined")
        if tree.id in self._globals:
            self._graph.namespace.setdefault(tree.id, self._globals[tree.id])
        return self._graph.node("constant", ast.Name(tree.id, ast.Load()))

    def _binary(self, tree: ast.BinOp) -> Node:
        operands = [self.expression(tree.left), self.expression(tree.right)]
        form = ast.BinOp(placeholder(0), tree.op, placeholder(1))
        if isinstance(tree.op, ast.MatMult):
            return self._make(tree, "matmul", form, operands, dict(zip(("a", "b"), operands)))
        made = self._make(tree, operations.BINARY[type(tree.op)].name, form, operands)
        is_array = made.active and all(isinstance(value, np.ndarray) for value in made.values)
        if made in operands and is_array and self._function is not None:  # an array of its own, as of `x * 1.0`
            copy = ast.Call(ast.Attribute(placeholder(0), "copy", ast.Load()), [], [])
            return self._make(tree, "copy", copy, [made], {"a": made})
        return made

    def _unary(self, tree: ast.UnaryOp) -> Node:
        operand = self.expression(tree.operand)
        if isinstance(tree.op, ast.USub) and isinstance(operand.form, ast.Constant) and operand.number is not None:
            return self._graph.node("number", ast.UnaryOp(tree.op, operand.form))
        return self._make(tree, operations.UNARY[type(tree.op)].name, ast.UnaryOp(tree.op, placeholder(0)), [operand])

    def _compare(self, tree: ast.Compare) -> Node:
        operands = [self.expression(each) for each in (tree.left, *tree.comparators)]
        form = ast.Compare(placeholder(0), tree.ops, [placeholder(at) for at in range(1, len(operands))])
        return self._make(tree, "compare", form, operands)

    def _choice(self, tree: ast.IfExp) -> Node:
        """Return the node of ``a if condition else b``; of tuples, a tuple of such nodes."""

        def choice(a: Node, b: Node) -> Node:
            if a.op == b.op == "tuple" and len(a.operands) == len(b.operands):
                return self._graph.tuple(list(map(choice, a.operands, b.operands)))
            form = ast.IfExp(placeholder(0), placeholder(1), placeholder(2))
            return self._make(tree, "where", form, [condition, a, b])

        condition = self.expression(tree.test)
        return choice(self.expression(tree.body), self.expression(tree.orelse))

    def _attribute(self, tree: ast.Attribute) -> Node:
        if self._is_of_module(tree):
            return self._graph.node("constant", tree)
        operand = self.expression(tree.value)
        form = ast.Attribute(placeholder(0), tree.attr, ast.Load())
        op = "transpose" if tree.attr == "T" else ""
        if not op and tree.attr not in _FACTS and operand.active:
            raise self.refuse(tree, f"the attribute {tree.attr} of an array has no derived gradient")
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
            raise self.refuse(tree, "a call with * or ** has no derived gradient; write the arguments out")
        operands = [self.expression(each) for each in tree.args]
        named = {str(each.arg): self.expression(each.value) for each in tree.keywords}
        function = self._callee(tree.func)
        if function is None:
            assert isinstance(tree.func, ast.Attribute)
            return self._called(
                tree, tree.func.attr, [self.expression(tree.func.value), *operands], named, is_method=True
            )
        if isinstance(function, types.FunctionType) and is_users(function.__globals__):
            return self.inlined(function, operands, named)
        found = operations.find(function)
        name = found.name if found else getattr(function, "__name__", "")
        if isinstance(getattr(function, "__self__", None), np.ufunc):
            name = f"{function.__self__.__name__}.{name}"
        if function in _OF_NUMBERS and len(operands) > 2:
            first = ast.copy_location(ast.Call(tree.func, tree.args[:-1], tree.keywords), tree)
            return self._call(ast.copy_location(ast.Call(tree.func, [first, tree.args[-1]], []), tree))
        if function in _OF_NUMBERS:
            name = _OF_NUMBERS[function] if len(operands) == 2 and not named else ""
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
        if name == "slogdet" and everything[0].active:
            return self._slogdet(tree, everything[0])
        form = ast.Call(
            func,
            [placeholder(at) for at in range(int(is_method), len(operands))],
            [ast.keyword(key, placeholder(len(operands) + at)) for at, key in enumerate(named)],
        )
        if name == "transpose" and len(operands) > 2:  # axes one by one, as the method takes them
            return self._called(tree, name, [operands[0], self._graph.tuple(operands[1:])], named, is_method=is_method)
        rule = RULES.get(name)
        arguments = None if rule is None else rule.bind(operands, named)
        is_known = arguments is not None or name in LIKE or (name in operations.OPERATIONS and not named)
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
            raise self.refuse(
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

    def _slogdet(self, tree: ast.Call, a: Node) -> Node:
        """Return the sign, which has no slope, and the logarithm, each of which is a call of its own."""
        sign, logarithm = (
            ast.Subscript(ast.Call(tree.func, [placeholder(0)], []), ast.Constant(at), ast.Load()) for at in (0, 1)
        )
        return self._graph.tuple(
            [self._make(tree, "sign", sign, [a]), self._make(tree, "slogdet", logarithm, [a], {"a": a})]
        )

    def _callee(self, tree: ast.expr) -> Any:
        """Return the function that an expression names; None for a method of a value."""
        if isinstance(tree, ast.Name) and tree.id not in self.names:
            node = self._name(tree)
            return node.values[0]
        if isinstance(tree, ast.Attribute) and self._is_of_module(tree):
            return self._graph.node("constant", tree).values[0]
        if isinstance(tree, ast.Attribute):
            return None
        raise self.refuse(tree, f"the call of {ast.unparse(tree)} has no derived gradient")

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
        form = renamed(tree, {name: placeholder(at) for at, name in enumerate(names)})
        node = self._make(tree, "", form, operands)
        if node.active:
            kind = "a comprehension over arrays" if isinstance(tree, _COMPREHENSIONS) else f"{ast.unparse(tree)}"
            raise self.refuse(tree, f"{kind} has no derived gradient; write the parts out")
        return node

    def refuse(self, tree: ast.AST, why: str) -> KernelError:
        """Return an error with the line of a part of the function."""
        place = self._place(tree)
        return KernelError(f"{place}: {why}" if place else why)

    def _place(self, tree: ast.AST) -> str:
        if self._function is None:
            return ""
        if hasattr(tree, PLACE):
            return str(getattr(tree, PLACE))
        return f"{self._function.__code__.co_filename}:{self._first + getattr(tree, 'lineno', 1) - 1}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
