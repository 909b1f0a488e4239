"""Express reductions of arrays."""

from __future__ import annotations

import ast
import operator
from typing import Any, cast

import numpy as np

from pykernels.kernel.expression import views
from pykernels.kernel.expression.array_nodes import Joined, Reduction, require_known
from pykernels.kernel.expression.axes import COUNT, NUMBER, UNIT, Axes, Shape, encoded
from pykernels.kernel.expression.construction import compute
from pykernels.kernel.expression.distribution import apply, convert
from pykernels.kernel.expression.foldings import REDUCTIONS
from pykernels.kernel.expression.joining import join
from pykernels.kernel.expression.lengths import SUBTRACT
from pykernels.kernel.expression.nodes import Node, NotExpressible, dtype_of, operation
from pykernels.kernel.expression.operations import BINARY, Function, find
from pykernels.kernel.expression.selection import opened, view

_DIVIDE = Function("divide", operator.truediv)


def reduce(name: str, axes: Axes, value: Node, positional: list[Any], keywords: dict[str, Any]) -> Node:
    """Return the reduction `name` of an array; its arguments are those of NumPy's method."""
    order = ("axis", "dtype") if REDUCTIONS[name].has_dtype else ("axis",)
    given = dict(zip(order, positional)) | keywords
    known = {*order, "keepdims", *REDUCTIONS[name].options}
    if len(positional) > len(order) or set(given) - known or {*order[: len(positional)]} & set(keywords):
        raise NotExpressible(f"a {name} with these arguments")
    for argument in given.values():
        require_known(argument)
    shape = axes.shape_of(value)
    keeps = bool(given.get("keepdims", False))
    at = views.places_of(given.get("axis"), len(shape))
    made = _folded(axes, name, value, at, given)
    left = tuple(UNIT if i in at else axis for i, axis in enumerate(shape))
    return view(axes, made, left if keeps else tuple(axis for i, axis in enumerate(shape) if i not in at))


def reduce_by(name: str, axes: Axes, value: Node, positional: list[Any], keywords: dict[str, Any]) -> Node:
    """Return the reduction `name` of an array; its arguments are those of the ``reduce`` of a universal function."""
    return reduce(name, axes, value, positional, keywords if positional else {"axis": 0, **keywords})


def _folded(axes: Axes, name: str, value: Node, at: frozenset[int], given: dict[str, Any]) -> Node:
    """Return the reduction; the folded axes stay, with length 1."""
    sample = np.ones(1, dtype_of(value))
    if name in ("any", "all"):
        return _fold(axes, convert(value, np.ones(1, np.bool_), axes), name, at)
    if name in ("max", "min"):
        initial = given.get("initial")
        found = _fold(axes, value, name, at, may_be_empty=initial is not None)
        extreme = find(np.maximum if name == "max" else np.minimum)
        return found if initial is None or extreme is None else apply(extreme, [found, initial], axes)
    dtype = given.get("dtype")
    options = {} if dtype is None else {"dtype": compute(np.dtype, (dtype,))}
    result = compute(lambda: getattr(np, name)(sample, **options), ()).dtype
    if name in ("sum", "prod"):
        return _fold(axes, convert(value, np.ones(1, result), axes), name, at)
    if result.kind != "f":
        raise NotExpressible(f"a {name} of {result}")
    # As in NumPy, a mean of float16 is computed in float32. It is not rounded, since its operand is not.
    within = np.dtype(np.float32) if result == np.float16 else result
    array = convert(value, np.ones(1, within), axes)
    count = views.count(axes, _lost(axes, value, at))
    mean = apply(_DIVIDE, [_fold(axes, array, name, at), count], axes)
    if name != "mean":
        centred = apply(BINARY[ast.Sub], [array, mean], axes)
        square = apply(BINARY[ast.Mult], [centred, centred], axes)
        ddof = given.get("ddof", 0)
        if ddof:
            left = apply(BINARY[ast.Sub], [count, ddof], axes)
            count = apply(Function("maximum", max), [left, 0], axes)
        mean = apply(_DIVIDE, [_fold(axes, square, name, at), count], axes)
    if name == "std":
        mean = apply(Function("sqrt", np.sqrt), [mean], axes)
    if result == within:
        return cast(Node, mean)
    return axes.once(operation(Function("convert", lambda _: np.ones(1, result)), [mean]), "convert", result, mean)


def _lost(axes: Axes, value: Node, at: frozenset[int]) -> Shape:
    shape = axes.shape_of(value)
    return tuple(shape[i] for i in sorted(at))


def _fold(axes: Axes, value: Node, name: str, at: frozenset[int], *, may_be_empty: bool = True) -> Node:
    value = opened(axes, value)
    if not any(axes.shape_of(value)[i] for i in at):
        return value
    if isinstance(value, Joined):
        return _fold_joined(axes, value, name, at, may_be_empty=may_be_empty)
    made = Reduction(
        np.ones(1, dtype_of(value)),
        name=REDUCTIONS[name].operation,
        operand=value,
        folded=_lost(axes, value, at),
        may_be_empty=may_be_empty,
    )
    axes.note(made, tuple(UNIT if i in at else axis for i, axis in enumerate(axes.shape_of(value))))
    return axes.once(made, made.name, value, sorted(at), may_be_empty)


def _fold_joined(axes: Axes, value: Joined, name: str, at: frozenset[int], *, may_be_empty: bool) -> Node:
    shape = axes.shape_of(value)
    if len(shape) + value.axis not in at:
        return join(axes, [_fold(axes, part, name, at, may_be_empty=may_be_empty) for part in value.parts], value.axis)
    combine = find(getattr(np, REDUCTIONS[name].operation))
    assert combine is not None
    folded, *others = (_fold(axes, part, name, at) for part in value.parts)
    if not may_be_empty:
        # Some of the parts may be, but not all: a negative length is an error.
        axes.add([[COUNT, *encoded(tuple(shape[i] for i in at)), NUMBER, 1, SUBTRACT]])
    for other in others:
        folded = apply(combine, [folded, other], axes)
    return folded
