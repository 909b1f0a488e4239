"""Evaluate Python functions to expressions: their syntax trees, with nodes in place of arrays and scalars."""

from __future__ import annotations

import ast
import builtins
import itertools
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.base.dtypes import seen_as
from pykernels.kernel.expression import calls, operations, promotion, slicing, tables, views
from pykernels.kernel.expression.array_nodes import require_known
from pykernels.kernel.expression.axes import Axes, Shape
from pykernels.kernel.expression.construction import compute, power_operator
from pykernels.kernel.expression.distribution import apply, choose, convert
from pykernels.kernel.expression.nodes import Input, Keyword, Node, NotExpressible, describe, dtype_of, is_array
from pykernels.kernel.read.signature import Signature, group_shapes
from pykernels.kernel.read.source import KernelFunction

_MAX_DEPTH = 32
# The most expressions to evaluate, those of called functions included; as many take some 10 s.
_MOST_EXPRESSIONS = 10_000
# The result of a block that ends without a return statement.
_NO_RETURN = object()
_NUMBERS = (bool, int, float, np.generic)
_IDENTITY: dict[type[ast.AST], Callable[..., Any]] = {ast.Is: operator.is_, ast.IsNot: operator.is_not}
_ATTRIBUTES: dict[str, Callable[[Axes, Any], Any]] = {**views.ATTRIBUTES, "T": slicing.transpose}
_STATIC_COMPARISONS: dict[type[ast.AST], Callable[..., Any]] = {
    **{symbol: function.function for symbol, function in operations.COMPARISONS.items()},
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


def evaluate(kernel: KernelFunction, signature: Signature, axes: Axes, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    """Return the outputs of a kernel as expressions of its inputs and scalars.

    Parameters
    ----------
    axes : Axes
        Records the shapes of nodes.
    shapes : sequence of Shape
        The shapes of the inputs.

    Raises
    ------
    NotExpressible
        The kernel has no such expressions, or the number of its outputs is not the signature's.
    """
    where = kernel.place
    if kernel.takes_outs:
        raise NotExpressible("it writes into 'outs'", where)
    if signature.mutable:
        raise NotExpressible("it may change an input", where)
    tensors = enumerate(signature.tensors[: signature.n_inputs])
    inputs = [Input(np.ones(1, seen_as(tensor.dtype)), position=at) for at, tensor in tensors]
    for node, shape in zip(inputs, shapes):
        axes.note(node, shape)
    keywords: dict[str, Any] = dict(signature.constants)
    for slot, (name, _) in enumerate(signature.scalars):
        is_specializable = name in signature.specializable
        keywords[name] = Keyword(signature.example(name), slot=slot, name=name, is_specializable=is_specializable)
    args = group_shapes(signature.inputs, iter(inputs))
    function = tables.looked_up(kernel.function, dict(signature.constants))
    result = Evaluation(function, kernel.helpers, axes, itertools.count(1)).run([args], keywords)
    if isinstance(result, _List):
        raise NotExpressible("it returns a list", where)
    outputs = result if isinstance(result, tuple) else (result,)
    expected = len(signature.tensors) - signature.n_inputs
    if len(outputs) != expected:
        raise NotExpressible(f"it returns {len(outputs)} results for {expected} outputs", where)
    return outputs


class _List(tuple[Any, ...]):
    """The members of a list that the kernel does not change."""


class Evaluation:
    """The evaluation of one call of a function.

    A value is a `Node`, or a Python object that is known now: a number, None, a string, a dtype, a module, a function,
    or a tuple of values. Code that cannot be evaluated raises `NotExpressible`; the innermost statement or expression
    adds its place in the file.

    Attributes
    ----------
    names : dict
        The values of the function's variables.
    """

    def __init__(
        self, function: Callable[..., Any], helpers: Sequence[Any], axes: Axes, evaluated: Iterator[int], depth: int = 0
    ) -> None:
        definition = promotion.definition_of(function)
        if definition is None or function.__closure__ or depth > _MAX_DEPTH:
            raise NotExpressible(f"the source of {function.__name__} is not a function at the top level of a file")
        self._definition = definition
        self._defaults = (function.__defaults__ or (), function.__kwdefaults__ or {})
        self._file = Path(function.__code__.co_filename).name
        self._globals = function.__globals__
        self._locals = function.__code__.co_varnames
        self._helpers = helpers
        self._axes = axes
        self._depth = depth
        self._evaluated = evaluated
        self.names: dict[str, Any] = {}
        self._given: tuple[Any, ...] = ()

    def run(self, positional: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Return what the function returns."""
        try:
            self._bind_parameters(positional, keywords)
            result = self._block(self._definition.body)
        except RecursionError:
            raise NotExpressible("an expression that is nested too deeply", self._place(self._definition)) from None
        except NotExpressible as refusal:
            self._locate(refusal, self._definition)
            raise
        return None if result is _NO_RETURN else result

    def begin(self, values: dict[str, Any]) -> None:
        """Set the values of names, which the statements must not change in place."""
        self.names = dict(values)
        self._given = tuple(values.values())

    def execute(self, statement: ast.stmt) -> None:
        """Evaluate an assignment."""
        self._block([statement])

    def _locate(self, refusal: NotExpressible, node: ast.AST) -> None:
        """Add the place to a refusal that has none, and the expression as its reason if it has none."""
        if not refusal.where:
            refusal.where = self._place(node)
            refusal.reason = refusal.reason or describe(node)

    def _place(self, node: ast.AST) -> str:
        return f"{self._file}:{getattr(node, 'lineno', 0)}"

    def _nested(self, function: Callable[..., Any], positional: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Return what another function returns."""
        inner = Evaluation(function, self._helpers, self._axes, self._evaluated, self._depth + 1)
        return inner.run(positional, keywords)

    def _bind_parameters(self, positional: Sequence[Any], keywords: dict[str, Any]) -> None:
        parameters = self._definition.args
        if parameters.vararg or parameters.kwarg or parameters.posonlyargs:
            raise NotExpressible(f"the parameters of {self._definition.name}")
        names = [parameter.arg for parameter in parameters.args]
        defaults, keyword_defaults = self._defaults
        self.names = dict(zip(reversed(names), reversed(defaults))) | keyword_defaults | keywords
        self.names |= dict(zip(names, positional))
        self._given = (*positional, *keywords.values())
        wanted = {*names, *(parameter.arg for parameter in parameters.kwonlyargs)}
        if len(positional) > len(names) or wanted != set(self.names) or {*names[: len(positional)]} & set(keywords):
            raise NotExpressible(f"a call of {self._definition.name} that does not fit it")

    # ---- statements

    def _block(self, statements: Sequence[ast.stmt]) -> Any:
        for statement in statements:
            try:
                result = self._statement(statement)
            except NotExpressible as refusal:
                self._locate(refusal, statement)
                raise
            if result is not _NO_RETURN:
                return result
        return _NO_RETURN

    def _statement(self, statement: ast.stmt) -> Any:
        if isinstance(statement, ast.Return):
            return None if statement.value is None else self._value(statement.value)
        if isinstance(statement, ast.Assign):
            value = self._value(statement.value)
            for target in statement.targets:
                self._assign(target, value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign(statement.target, self._value(statement.value))
        elif isinstance(statement, ast.AugAssign):
            self._assign_in_place(statement)
        elif isinstance(statement, ast.If):
            return self._block(statement.body if self._truth(statement.test) else statement.orelse)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Call, ast.Constant)):
            self._value(statement.value)
        elif not isinstance(statement, ast.Pass):
            raise NotExpressible
        return _NO_RETURN

    def _truth(self, test: ast.expr) -> bool:
        value = self._value(test)
        if self._axes.has_ranks:
            require_known(value)
        if isinstance(value, Node):
            raise NotExpressible("a branch on what is known at run time only")
        return bool(value)

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, tuple) and len(value) == len(target.elts):
            for part, member in zip(target.elts, value):
                self._assign(part, member)
        else:
            raise NotExpressible("an assignment to a part of something")

    def _assign_in_place(self, statement: ast.AugAssign) -> None:
        old, operand = self._value(statement.target), self._value(statement.value)
        self._change(statement.target, self._binary(statement.op, old, operand))

    def _change(self, target: ast.expr, new: Any) -> Any:
        """Change a number, or an array in place; return its value."""
        if not isinstance(target, ast.Name):
            raise NotExpressible("an assignment to a part of something")
        old = self._value(target)
        if is_array(old):
            # The array itself changes: no other name may refer to it, and its dtype and shape stay.
            others = [value for name, value in self.names.items() if name != target.id]
            if any(_shares(value, old) for value in (*self._given, *others)):
                raise NotExpressible("a change in place of what has another name")
            if not self._axes.stays(old, new) or not np.can_cast(dtype_of(new), dtype_of(old), "same_kind"):
                raise NotExpressible("a change in place that does not fit")
            new = convert(new, old.sample, self._axes)
        self.names[target.id] = new
        return new

    # ---- expressions

    def _value(self, node: ast.expr) -> Any:
        try:
            if next(self._evaluated) > _MOST_EXPRESSIONS:
                raise NotExpressible(f"there are more than {_MOST_EXPRESSIONS:,} expressions")
            if isinstance(node, ast.Constant):
                return node.value
            if isinstance(node, ast.Name):
                return self._lookup(node)
            if isinstance(node, (ast.Tuple, ast.List)):
                return (tuple if isinstance(node, ast.Tuple) else _List)(self._members(node.elts))
            if isinstance(node, ast.BinOp):
                return self._binary(node.op, self._value(node.left), self._value(node.right))
            if isinstance(node, ast.UnaryOp):
                return self._unary(node.op, self._value(node.operand))
            if isinstance(node, ast.Compare):
                return self._compare(node.ops, list(map(self._value, [node.left, *node.comparators])))
            if isinstance(node, ast.BoolOp):
                return self._join(node)
            if isinstance(node, ast.IfExp):
                return self._choose(node)
            if isinstance(node, ast.Attribute):
                return self._attribute(self._value(node.value), node.attr)
            if isinstance(node, ast.Subscript):
                return self._member(node)
            if isinstance(node, ast.Call):
                return self._call(node)
            raise NotExpressible
        except NotExpressible as refusal:
            self._locate(refusal, node)
            raise

    def _members(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """Return the values of the members of a tuple, or of the arguments of a call."""
        found: list[Any] = []
        for each in nodes:
            value = self._value(each.value if isinstance(each, ast.Starred) else each)
            if isinstance(each, ast.Starred) and not isinstance(value, tuple):
                raise NotExpressible("a star before what is no tuple")
            found += value if isinstance(each, ast.Starred) else (value,)
        return found

    def _lookup(self, node: ast.Name) -> Any:
        if node.id in self.names:
            return self.names[node.id]
        for namespace in (self._globals, vars(builtins)):
            if node.id in namespace and node.id not in self._locals:
                return namespace[node.id]
        raise NotExpressible(f"the name {node.id}")

    def _binary(self, symbol: ast.operator, left: Any, right: Any) -> Any:
        function = operations.BINARY.get(type(symbol))
        if function is None:
            raise NotExpressible("a matrix product")
        if isinstance(symbol, ast.Add) and isinstance(left, tuple) and isinstance(right, tuple):
            return left + right
        if isinstance(symbol, ast.Pow) and isinstance(left, Node):
            return apply(*power_operator(left, right), self._axes)
        return apply(function, [left, right], self._axes)

    def _unary(self, symbol: ast.unaryop, operand: Any) -> Any:
        if isinstance(symbol, ast.Not) and is_array(operand):
            raise NotExpressible("the truth of an array")
        return apply(operations.UNARY[type(symbol)], [operand], self._axes)

    def _compare(self, symbols: Sequence[ast.cmpop], values: Sequence[Any]) -> Any:
        if len(values) != 2:
            raise NotExpressible("a chain of comparisons")
        symbol = type(symbols[0])
        if symbol in _IDENTITY:
            return _IDENTITY[symbol](*values)
        if symbol in operations.COMPARISONS and any(isinstance(value, Node) for value in values):
            return apply(operations.COMPARISONS[symbol], values, self._axes)
        return compute(_STATIC_COMPARISONS[symbol], values)

    def _join(self, node: ast.BoolOp) -> Any:
        """Return the value of ``and`` or ``or``, as far as it is known while compiling."""
        for each in node.values[:-1]:
            if self._truth(each) is isinstance(node.op, ast.Or):
                return self._value(each)
        return self._value(node.values[-1])

    def _choose(self, node: ast.IfExp) -> Any:
        test = self._value(node.test)
        if not isinstance(test, Node):
            return self._value(node.body if test else node.orelse)
        branches = []
        for branch in (node.body, node.orelse):
            branches.append(self._value(branch))
            if self._axes.is_ranked(branches[-1]):
                require_known(test)
                raise NotExpressible("a choice on what is known at run time only")
        chosen, otherwise = branches
        return choose(test, chosen, otherwise, self._axes)

    def _attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, Node):
            if name == "dtype" and (is_array(owner) or self._axes.is_ranked(owner)):
                return dtype_of(owner)
            if name in operations.PARTS and is_array(owner):
                return apply(operations.PARTS[name], [owner], self._axes)
            if self._axes.is_ranked(owner) and name in _ATTRIBUTES:
                return _ATTRIBUTES[name](self._axes, owner)
            raise NotExpressible(f"the attribute {name!r} of an array")
        if isinstance(owner, (types.ModuleType, np.ufunc, np.dtype, np.finfo, np.iinfo, *_NUMBERS)):
            return compute(getattr, (owner, name))
        raise NotExpressible(f"the attribute {name!r}")

    def _member(self, node: ast.Subscript) -> Any:
        owner, index = self._value(node.value), self._index(node.slice)
        if isinstance(index, _List):
            raise NotExpressible("an index")
        if self._axes.is_ranked(owner):
            return slicing.index(self._axes, owner, index if isinstance(index, tuple) else (index,))
        bounds = (index.start, index.stop, index.step) if isinstance(index, slice) else (index,)
        if not isinstance(owner, tuple) or not all(bound is None or isinstance(bound, int) for bound in bounds):
            raise NotExpressible("an index")
        try:
            return owner[index]
        except Exception:
            raise NotExpressible("an index that is out of range") from None

    def _index(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Tuple):
            return tuple(map(self._index, node.elts))
        if isinstance(node, ast.Slice):
            return slice(*(None if each is None else self._value(each) for each in (node.lower, node.upper, node.step)))
        return self._value(node)

    def _call(self, node: ast.Call) -> Any:
        if any(k.arg is None for k in node.keywords):
            raise NotExpressible("a call with two stars")
        positional = self._members(node.args)
        keywords = {keyword.arg: self._value(keyword.value) for keyword in node.keywords if keyword.arg}
        call = calls.Call(ast.unparse(node.func), positional, keywords, self._axes, self._nested)
        if isinstance(node.func, ast.Attribute):
            owner = self._value(node.func.value)
            if isinstance(owner, Node):
                return calls.call_method(owner, node.func.attr, call)
            called = self._attribute(owner, node.func.attr)
        else:
            called = self._value(node.func)
        called = getattr(called, "py_func", called)
        if isinstance(called, types.FunctionType) and called in self._helpers:
            return self._nested(called, positional, keywords)
        value = calls.call_function(called, call)
        outs = [keyword.value for keyword in node.keywords if keyword.arg == "out"]
        outs += node.args[called.nin :] if isinstance(called, np.ufunc) else []
        if operations.look_up(operations.AT, called) is not None:
            self._change(node.args[0], value)
            return None
        return self._change(outs[0], value) if outs else value


def _shares(value: Any, node: Node) -> bool:
    """Whether a value is, or contains, an array that shares memory with `node`."""
    if isinstance(value, tuple):
        return any(_shares(member, node) for member in value)
    return views.owner_of(value) is views.owner_of(node)
