"""Expressions of Python, evaluated to values.

With nodes of an expression in place of the arrays, and whatever is known already as it is. What is not a step from
elements to elements ends the evaluation.
"""

from __future__ import annotations

import abc
import ast
import builtins
import itertools
import operator
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.kernel.expression import functions, substitutes
from pykernels.kernel.expression.construction import apply, convert, inputs_of, power_operator
from pykernels.kernel.expression.functions import Function
from pykernels.kernel.expression.nodes import Node, NotElementwise, Operation, dtype_of, is_array
from pykernels.kernel.expression.number_rules import is_chosen_safely

__all__ = ["ExpressionEvaluation", "describe"]

# Expressions in a function and in those that it calls, each time that they are evaluated: some 10 s for as many.
_MOST_EXPRESSIONS = 10_000
_NUMBERS = (bool, int, float, np.generic)
_IDENTITY: dict[type[ast.AST], Callable[..., Any]] = {ast.Is: operator.is_, ast.IsNot: operator.is_not}
_STATIC_COMPARISONS: dict[type[ast.AST], Callable[..., Any]] = {
    **{symbol: function.function for symbol, function in functions.COMPARISONS.items()},
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


class ExpressionEvaluation(abc.ABC):
    """The evaluation of the expressions of one function.

    A value is a `Node`, or an object of Python's that is known now: a number, None, a string, a dtype, a module, a
    function, or a tuple of values.
    """

    def __init__(self, function: types.FunctionType | Callable[..., Any], helpers: Sequence[Any]) -> None:
        self._file = Path(function.__code__.co_filename).name
        self._globals = function.__globals__
        self._helpers = helpers
        self._locals = function.__code__.co_varnames
        self._names: dict[str, Any] = {}
        self._evaluated = itertools.count(1)

    @abc.abstractmethod
    def _nested(self, function: Callable[..., Any], positional: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """What another of the user's functions returns."""

    def _value(self, node: ast.expr) -> Any:
        if next(self._evaluated) > _MOST_EXPRESSIONS:
            raise self._refusal(node, f"there are more than {_MOST_EXPRESSIONS:,} expressions")
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._lookup(node)
        if isinstance(node, ast.Tuple):
            return tuple(map(self._value, node.elts))
        if isinstance(node, ast.BinOp):
            return self._binary(node, node.op, self._value(node.left), self._value(node.right))
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.IfExp):
            return self._choose(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Subscript):
            return self._member(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise self._refusal(node, describe(node))

    def _lookup(self, node: ast.Name) -> Any:
        if node.id in self._names:
            return self._names[node.id]
        for namespace in (self._globals, vars(builtins)):
            if node.id in namespace and node.id not in self._locals:
                return namespace[node.id]
        raise self._refusal(node, f"the name {node.id}")

    def _binary(self, node: ast.AST, symbol: ast.operator, left: Any, right: Any) -> Any:
        function = functions.BINARY.get(type(symbol))
        if function is None:
            raise self._refusal(node, "a matrix product")
        if isinstance(left, Node) and type(symbol) is ast.Pow:
            return self._apply(node, *power_operator(left, right))
        return self._apply(node, function, [left, right])

    def _unary(self, node: ast.UnaryOp) -> Any:
        operand = self._value(node.operand)
        if isinstance(node.op, ast.Not):
            if is_array(operand):
                raise self._refusal(node, "the truth of an array")
            return self._apply(node, Function("logical_not", operator.not_, lambda x: np.dtype(bool)), [operand])
        return self._apply(node, functions.UNARY[type(node.op)], [operand])

    def _compare(self, node: ast.Compare) -> Any:
        values = list(map(self._value, [node.left, *node.comparators]))
        if len(values) != 2:
            raise self._refusal(node, "a chain of comparisons")
        symbol = type(node.ops[0])
        if symbol in _IDENTITY:
            return _IDENTITY[symbol](*values)
        if symbol in functions.COMPARISONS and any(isinstance(value, Node) for value in values):
            return self._apply(node, functions.COMPARISONS[symbol], values)
        return self._static(node, _STATIC_COMPARISONS[symbol], values)

    def _choose(self, node: ast.IfExp) -> Any:
        test = self._value(node.test)
        if not isinstance(test, Node):
            return self._value(node.body if test else node.orelse)
        chosen, otherwise = self._value(node.body), self._value(node.orelse)
        same = is_array(chosen) == is_array(otherwise) and dtype_of(chosen) == dtype_of(otherwise)
        if is_array(test) or not same or inputs_of(chosen) != inputs_of(otherwise):
            raise self._refusal(node, "a choice between things of different kinds")
        if not (is_chosen_safely(chosen) and is_chosen_safely(otherwise)):
            raise self._refusal(node, "a choice of what may raise an exception")
        return self._apply(node, Function("where", lambda test, a, b: a), [test, chosen, otherwise])

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self._value(node.value)
        if isinstance(owner, Node):
            if node.attr == "dtype" and is_array(owner):
                return dtype_of(owner)
            raise self._refusal(node, f"the attribute {node.attr!r} of an array")
        if isinstance(owner, (types.ModuleType, np.dtype, np.finfo, np.iinfo, *_NUMBERS)):
            return self._static(node, getattr, (owner, node.attr))
        raise self._refusal(node, f"the attribute {node.attr!r}")

    def _member(self, node: ast.Subscript) -> Any:
        owner, index = self._value(node.value), None if isinstance(node.slice, ast.Slice) else self._value(node.slice)
        if not isinstance(owner, tuple) or not isinstance(index, int):
            raise self._refusal(node, "an index")
        if not -len(owner) <= index < len(owner):
            raise self._refusal(node, "an index that is out of range")
        return owner[index]

    def _call(self, node: ast.Call) -> Any:
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            raise self._refusal(node, "a call with a star")
        positional = list(map(self._value, node.args))
        keywords = {keyword.arg: self._value(keyword.value) for keyword in node.keywords if keyword.arg}
        if isinstance(node.func, ast.Attribute):
            owner = self._value(node.func.value)
            if isinstance(owner, Node):
                return self._method(node, owner, node.func.attr, positional, keywords)
        called = self._value(node.func)
        called = getattr(called, "py_func", called)
        if isinstance(called, types.FunctionType) and called in self._helpers:
            return self._nested(called, positional, keywords)
        return self._called(node, called, positional, keywords)

    def _called(self, node: ast.Call, called: Any, positional: list[Any], keywords: dict[str, Any]) -> Any:
        """What a function that is not the user's returns."""
        substitute = substitutes.find(called, len(positional) + len(keywords))
        if substitute is not None:
            return self._substituted(node, substitute, positional, keywords)
        function = functions.find(called)
        if function is not None:
            return self._apply(node, function, self._operands(node, function, positional, keywords))
        if any(called is like for like in functions.LIKE):
            return self._like(node, called, positional, keywords)
        if any(called is known for known in functions.CONVERSIONS) and len(positional) == 1 and not keywords:
            (number,) = positional
            if isinstance(number, Node) and not is_array(number):
                return self._convert(node, number, called(1))
        if any(called is known for known in functions.STATIC):
            return self._static(node, lambda *values: called(*values, **keywords), (*positional, *keywords.values()))
        raise self._refusal(node, f"a call of {ast.unparse(node.func)}")

    def _substituted(
        self, node: ast.Call, substitute: Callable[..., Any], positional: Sequence[Any], keywords: dict[str, Any]
    ) -> Any:
        try:
            return self._nested(substitute, positional, keywords)
        except NotElementwise:
            raise self._refusal(node, f"a call of {ast.unparse(node.func)} with these arguments") from None

    def _operands(
        self, node: ast.Call, function: Function, positional: list[Any], keywords: dict[str, Any]
    ) -> list[Any]:
        if function.name == "clip":
            bounds = dict(zip(("a_min", "a_max"), positional[1:])) | keywords
            if set(bounds) == {"a_min", "a_max"} and len(positional) + len(keywords) == 3:
                return [positional[0], bounds["a_min"], bounds["a_max"]]
        if (
            keywords
            or (function.name == "where" and len(positional) != 3)
            or (function.name == "rint" and len(positional) != 1)
        ):
            raise self._refusal(node, f"a call of {ast.unparse(node.func)} with these arguments")
        return positional

    def _method(self, node: ast.Call, owner: Node, name: str, positional: list[Any], keywords: dict[str, Any]) -> Any:
        if not is_array(owner):
            raise self._refusal(node, f"the method {name!r} of a number")
        if name == "astype" and (len(positional), set(keywords) - {"copy"}) in ((1, set()), (0, {"dtype"})):
            dtype = self._static(node, np.dtype, (positional[0] if positional else keywords["dtype"],))
            if keywords.get("copy") is False and dtype == dtype_of(owner):
                return owner
            return self._convert(node, owner, np.ones(1, dtype))
        if name == "clip" and len(positional) == 2 and not keywords:
            return self._apply(node, Function("clip", np.clip), [owner, *positional])
        if name == "copy" and not positional and not keywords:
            return self._convert(node, owner, owner.sample)
        if name in substitutes.METHODS:
            return self._substituted(node, substitutes.METHODS[name], [owner, *positional], keywords)
        raise self._refusal(node, f"the method {name!r}")

    def _like(self, node: ast.Call, called: Any, positional: list[Any], keywords: dict[str, Any]) -> Node:
        filled = functions.LIKE[called]
        values = [*positional, *([] if filled is None else [filled])]
        if len(values) != 2 or not is_array(values[0]) or set(keywords) - {"dtype"} or is_array(values[1]):
            raise self._refusal(node, f"a call of {ast.unparse(node.func)} with these arguments")
        like, value = values
        dtype = self._static(node, np.dtype, (keywords.get("dtype", dtype_of(like)),))
        # Its value does not depend on `like`, but its shape does.
        return Operation(np.ones(1, dtype), like.inputs, name="convert", operands=(value,), dtype=dtype)

    # ---- what all of these come down to

    def _apply(self, node: ast.AST, function: Function, operands: Sequence[Any]) -> Any:
        if not any(isinstance(operand, Node) for operand in operands):
            return self._static(node, function.function, operands)
        try:
            return apply(function, operands)
        except NotElementwise as reason:
            raise self._refusal(node, str(reason)) from None

    def _convert(self, node: ast.AST, value: Node, sample: Any) -> Any:
        try:
            return convert(value, sample)
        except NotElementwise as reason:
            raise self._refusal(node, str(reason)) from None

    def _static(self, node: ast.AST, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        """What is known now is computed now."""
        if any(map(_has_nodes, values)):
            raise self._refusal(node, describe(node))
        try:
            with np.errstate(all="ignore"):
                return function(*values)
        except Exception as error:
            raise self._refusal(node, f"{type(error).__name__}: {error}") from error

    def _known_truth(self, test: ast.expr) -> bool:
        value = self._value(test)
        if isinstance(value, Node):
            raise self._refusal(test, "a branch on what is known at run time only")
        return bool(value)

    def _refusal(self, node: ast.AST, what: str) -> NotElementwise:
        return NotElementwise(f"{self._file}:{getattr(node, 'lineno', 0)}: {what}")


def _has_nodes(value: Any) -> bool:
    return isinstance(value, Node) or (isinstance(value, tuple) and any(map(_has_nodes, value)))


_DESCRIPTIONS: dict[type[ast.AST], str] = {
    ast.For: "a loop",
    ast.While: "a loop",
    ast.Raise: "an exception",
    ast.Slice: "an index",
    ast.Subscript: "an index",
}


def describe(node: ast.AST) -> str:
    """A part of a function, as a reason names it."""
    return _DESCRIPTIONS.get(type(node)) or ast.unparse(node).splitlines()[0]
