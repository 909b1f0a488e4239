"""Evaluate Python functions on expressions of whole arrays: elementwise operations, reductions, views."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from pykernels.kernel.expression.array_nodes import Extent, Reduction
from pykernels.kernel.expression.axes import UNIT, Shape
from pykernels.kernel.expression.functions import BINARY, LIKE, Function, find
from pykernels.kernel.expression.nodes import Node, Operation, dtype_of, operation
from pykernels.kernel.expression.view_evaluation import ViewEvaluation

__all__ = ["ArrayEvaluation"]

# NumPy's functions, which are methods of arrays as well, and what each folds with.
_REDUCTIONS: Mapping[str, str] = {
    "sum": "add",
    "mean": "add",
    "var": "add",
    "std": "add",
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
    "any": "maximum",
    "all": "minimum",
}
_FUNCTIONS = {
    **{getattr(np, name): name for name in _REDUCTIONS if hasattr(np, name)},
    np.amax: "max",
    np.amin: "min",
}
_OPTIONS = {"var": ("ddof",), "std": ("ddof",), "max": ("initial",), "min": ("initial",)}


class ArrayEvaluation(ViewEvaluation):
    """The evaluation of one call of a function on arrays whose numbers of axes are known."""

    def _inner(self, function: Callable[..., Any]) -> ArrayEvaluation:
        return ArrayEvaluation(function, self._helpers, self._depth + 1, self._axes)

    def _apply(self, node: ast.AST, function: Function, operands: Sequence[Any]) -> Any:
        if function.name == "add" and all(isinstance(operand, tuple) for operand in operands):
            return operands[0] + operands[1]
        made = super()._apply(node, function, operands)
        if not isinstance(made, Operation):
            return made
        self._axes.shape_of(made)
        return self._once(made, function.name, made.dtype, *operands)

    def _convert(self, node: ast.AST, value: Node, sample: Any) -> Any:
        made = super()._convert(node, value, sample)
        return self._once(made, "convert", made.dtype, value)

    # ---- what is known about shapes

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self._value(node.value)
        if self._axes.has(owner):
            shape = self._axes.shape_of(owner)
            if node.attr == "shape":
                return tuple(map(self._length, shape))
            if node.attr == "size":
                return self._count(shape)
            if node.attr == "ndim":
                return len(shape)
            if node.attr == "dtype":
                return dtype_of(owner)
            if node.attr == "T" and len(shape) < 2:
                return owner
        return super()._attribute(node)

    def _member(self, node: ast.Subscript) -> Any:
        owner = self._value(node.value)
        if self._axes.has(owner):
            return self._indexed(node, owner)
        if isinstance(owner, tuple) and isinstance(node.slice, ast.Slice):
            bounds = [
                None if part is None else self._value(part)
                for part in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            if not any(isinstance(bound, Node) for bound in bounds):
                return self._static(node, lambda: owner[slice(*bounds)], ())
        return super()._member(node)

    def _known_truth(self, test: ast.expr) -> bool:
        value = self._value(test)
        self._require_known(value)
        if isinstance(value, Node):
            raise self._refusal(test, "a branch on what is known at run time only")
        return bool(value)

    def _choose(self, node: ast.IfExp) -> Any:
        test = self._value(node.test)
        if not isinstance(test, Node):
            return self._value(node.body if test else node.orelse)
        if any(self._axes.has(self._value(branch)) for branch in (node.body, node.orelse)):
            self._require_known(test)
            raise self._refusal(node, "a choice on what is known at run time only")
        return super()._choose(node)

    # ---- calls

    def _called(self, node: ast.Call, called: Any, positional: list[Any], keywords: dict[str, Any]) -> Any:
        if positional and self._axes.has(positional[0]):
            value, *rest = positional
            name = _name_of(called)
            if name is not None:
                return self._reduce(node, name, value, rest, keywords)
            if called is len:
                return self._length(self._axes.shape_of(value)[0])
            if called is np.expand_dims:
                return self._expanded(node, value, *rest, **keywords)
            if called is np.squeeze:
                return self._method(node, value, "squeeze", rest, keywords)
            if called is np.reshape:
                return self._method(node, value, "reshape", rest, keywords)
        if find(called) is None and called not in LIKE:
            for value in (*positional, *keywords.values()):
                self._require_known(value)
        if called is np.arange and len(positional) == 1 and not keywords and isinstance(positional[0], Extent):
            return self._counted(node, positional[0])
        if called in (range, tuple):
            return self._static(node, called, positional)
        return super()._called(node, called, positional, keywords)

    def _method(self, node: ast.Call, owner: Node, name: str, positional: list[Any], keywords: dict[str, Any]) -> Any:
        if self._axes.has(owner):
            if name in _REDUCTIONS:
                return self._reduce(node, name, owner, positional, keywords)
            if name == "reshape":
                return self._reshaped(node, owner, positional, keywords)
            if name == "squeeze" and len(positional) + len(keywords) == 1:
                return self._squeezed(node, owner, *positional, **keywords)
            if name in ("ravel", "flatten", "transpose") and len(self._axes.shape_of(owner)) == 1 and not positional:
                return owner
        return super()._method(node, owner, name, positional, keywords)

    def _like(self, node: ast.Call, called: Any, positional: list[Any], keywords: dict[str, Any]) -> Node:
        made = super()._like(node, called, positional, keywords)
        self._axes.note(made, self._axes.shape_of(positional[0]))
        return made

    # ---- reductions

    def _reduce(self, node: ast.Call, name: str, value: Node, positional: list[Any], keywords: dict[str, Any]) -> Node:
        order = ("axis", "dtype") if name in ("sum", "mean", "prod", "var", "std") else ("axis",)
        given = dict(zip(order, positional)) | keywords
        known = {*order, "keepdims", *_OPTIONS.get(name, ())}
        if len(positional) > len(order) or set(given) - known or {*order[: len(positional)]} & set(keywords):
            raise self._refusal(node, f"a {name} with these arguments")
        for argument in given.values():
            self._require_known(argument)
        shape = self._axes.shape_of(value)
        keeps = bool(given.get("keepdims", False))
        at = self._places(node, given.get("axis"), len(shape))
        made = self._folded(node, name, value, at, given)
        left = tuple(UNIT if i in at else axis for i, axis in enumerate(shape))
        return self._view(made, left if keeps else tuple(axis for i, axis in enumerate(shape) if i not in at))

    def _folded(self, node: ast.AST, name: str, value: Node, at: frozenset[int], given: dict[str, Any]) -> Node:
        """The reduction, with all of its axes kept, at length 1."""
        sample = np.ones(1, dtype_of(value))
        if name in ("any", "all"):
            return self._fold(self._convert(node, value, np.ones(1, np.bool_)), name, at)
        if name in ("max", "min"):
            initial = given.get("initial")
            found = self._fold(value, name, at, may_be_empty=initial is not None)
            extreme = find(np.maximum if name == "max" else np.minimum)
            return found if initial is None or extreme is None else self._apply(node, extreme, [found, initial])
        dtype = given.get("dtype")
        options = {} if dtype is None else {"dtype": self._static(node, np.dtype, (dtype,))}
        result = self._static(node, lambda: getattr(np, name)(sample, **options), ()).dtype
        if name in ("sum", "prod"):
            return self._fold(self._convert(node, value, np.ones(1, result)), name, at)
        if result.kind != "f":
            raise self._refusal(node, f"a {name} of {result}")
        # As NumPy: a mean of float16 is computed in float32. It is not rounded, as what it is of is not.
        within = np.dtype(np.float32) if result == np.float16 else result
        array = self._convert(node, value, np.ones(1, within))
        count = self._count(self._lost(value, at))
        mean = self._divide(node, self._fold(array, name, at), count)
        if name != "mean":
            centred = self._apply(node, BINARY[ast.Sub], [array, mean])
            square = self._apply(node, BINARY[ast.Mult], [centred, centred])
            ddof = given.get("ddof", 0)
            if ddof:
                left = self._apply(node, BINARY[ast.Sub], [count, ddof])
                count = self._apply(node, Function("maximum", max), [left, 0])
            mean = self._divide(node, self._fold(square, name, at), count)
        if name == "std":
            mean = self._apply(node, Function("sqrt", np.sqrt), [mean])
        if result == within:
            return cast(Node, mean)
        return self._once(operation("convert", lambda _: np.ones(1, result), [mean]), "convert", result, mean)

    def _divide(self, node: ast.AST, total: Node, count: Any) -> Any:
        return self._apply(node, Function("divide", operator.truediv), [total, count])

    def _lost(self, value: Node, at: frozenset[int]) -> Shape:
        shape = self._axes.shape_of(value)
        return tuple(shape[i] for i in sorted(at))

    def _fold(self, value: Node, name: str, at: frozenset[int], *, may_be_empty: bool = True) -> Node:
        made = Reduction(
            np.ones(1, dtype_of(value)),
            value.inputs,
            name=_REDUCTIONS[name],
            operand=value,
            folded=self._lost(value, at),
            may_be_empty=may_be_empty,
        )
        self._axes.note(made, tuple(UNIT if i in at else axis for i, axis in enumerate(self._axes.shape_of(value))))
        return self._once(made, made.name, value, sorted(at), may_be_empty)


def _name_of(called: Any) -> str | None:
    try:
        return _FUNCTIONS.get(called)
    except TypeError:  # unhashable
        return None
