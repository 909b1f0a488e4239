"""Evaluate Python functions on elementwise expressions, statement after statement."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pykernels.kernel.expression import promotion
from pykernels.kernel.expression.expression_evaluation import ExpressionEvaluation, describe
from pykernels.kernel.expression.nodes import Node, NotElementwise, dtype_of, is_array

__all__ = ["Evaluation"]

_MAX_DEPTH = 32


class _NoReturn:
    """A body that ended without a return statement."""


class Evaluation(ExpressionEvaluation):
    """The evaluation of one call of a function."""

    def __init__(self, function: types.FunctionType | Callable[..., Any], helpers: Sequence[Any], depth: int) -> None:
        definition = promotion.definition_of(function)
        if definition is None or function.__closure__ or depth > _MAX_DEPTH:
            raise NotElementwise(f"the source of {function.__name__} is not a function at the top level of a file")
        super().__init__(function, helpers)
        self._definition = definition
        self._defaults = (function.__defaults__ or (), function.__kwdefaults__ or {})
        self._depth = depth

    def run(self, positional: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """What the function returns."""
        self._bind_parameters(positional, keywords)
        try:
            result = self._block(self._definition.body)
        except RecursionError:
            raise self._refusal(self._definition, "an expression that is nested too deeply") from None
        return None if result is _NoReturn else result

    def _bind_parameters(self, positional: Sequence[Any], keywords: dict[str, Any]) -> None:
        parameters = self._definition.args
        if parameters.vararg or parameters.kwarg or parameters.posonlyargs:
            raise self._refusal(self._definition, f"the parameters of {self._definition.name}")
        names = [parameter.arg for parameter in parameters.args]
        defaults, keyword_defaults = self._defaults
        self._names = dict(zip(reversed(names), reversed(defaults))) | keyword_defaults | keywords
        self._names |= dict(zip(names, positional))
        self._given = (*positional, *keywords.values())
        wanted = {*names, *(parameter.arg for parameter in parameters.kwonlyargs)}
        if len(positional) > len(names) or wanted != set(self._names) or {*names[: len(positional)]} & set(keywords):
            raise self._refusal(self._definition, f"a call of {self._definition.name} that does not fit it")

    # ---- statements

    def _block(self, statements: Sequence[ast.stmt]) -> Any:
        for statement in statements:
            result = self._statement(statement)
            if result is not _NoReturn:
                return result
        return _NoReturn

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
            return self._block(statement.body if self._known_truth(statement.test) else statement.orelse)
        elif not (isinstance(statement, ast.Pass) or _is_docstring(statement)):
            raise self._refusal(statement, describe(statement))
        return _NoReturn

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, tuple) and len(value) == len(target.elts):
            for part, member in zip(target.elts, value):
                self._assign(part, member)
        else:
            raise self._refusal(target, "an assignment to a part of something")

    def _assign_in_place(self, statement: ast.AugAssign) -> None:
        target = statement.target
        if not isinstance(target, ast.Name):
            raise self._refusal(statement, "an assignment to a part of something")
        old, operand = self._value(target), self._value(statement.value)
        new = self._binary(statement, statement.op, old, operand)
        if is_array(old):
            # The array itself changes: nobody else may see it, and it keeps its dtype and shape.
            others = [value for name, value in self._names.items() if name != target.id]
            if any(self._shares(value, old) for value in (*self._given, *others)):
                raise self._refusal(statement, "a change in place of what has another name")
            if not self._fits(new, old) or not np.can_cast(dtype_of(new), dtype_of(old), "same_kind"):
                raise self._refusal(statement, "a change in place that does not fit")
            new = self._convert(statement, new, old.sample)
        self._names[target.id] = new

    # ---- what depends on shapes

    def _nested(self, function: Callable[..., Any], positional: Sequence[Any], keywords: dict[str, Any]) -> Any:
        inner = self._inner(function)
        inner._evaluated = self._evaluated
        return inner.run(positional, keywords)

    def _inner(self, function: Callable[..., Any]) -> Evaluation:
        return Evaluation(function, self._helpers, self._depth + 1)

    def _shares(self, value: Any, node: Node) -> bool:
        """Whether a value is an array, or has one in it, that lies in the same memory as another."""
        return value is node or (isinstance(value, tuple) and any(self._shares(member, node) for member in value))

    def _fits(self, new: Node, old: Node) -> bool:
        """Whether what is computed from an array and others has the shape of that array."""
        return new.inputs <= old.inputs


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
