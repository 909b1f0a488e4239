"""Express calls of NumPy's and Python's functions, and of methods of arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from pykernels.kernel.expression import gathering, operations, reductions, slicing, substitutes, views
from pykernels.kernel.expression.array_nodes import Extent, require_known
from pykernels.kernel.expression.axes import Axes, Shape
from pykernels.kernel.expression.call_arguments import clip_operands, is_same_kind
from pykernels.kernel.expression.construction import compute
from pykernels.kernel.expression.distribution import apply, convert
from pykernels.kernel.expression.foldings import REDUCTIONS, UFUNC_REDUCTIONS
from pykernels.kernel.expression.lengths import calculation
from pykernels.kernel.expression.nodes import KINDS, LARGEST, Node, NotExpressible, Operation, dtype_of, is_array
from pykernels.kernel.expression.operations import Function


@dataclass(frozen=True)
class Call:
    """A call whose arguments are evaluated.

    Attributes
    ----------
    text : str
        The function as the kernel writes it.
    positional, keywords
        The arguments.
    axes : Axes
    evaluate : callable
        Evaluates a Python function for such arguments.
    """

    text: str
    positional: list[Any]
    keywords: dict[str, Any]
    axes: Axes
    evaluate: Callable[..., Any]

    def misfit(self) -> NotExpressible:
        """Return the error for arguments that cannot be expressed."""
        return NotExpressible(f"a call of {self.text} with these arguments")


# Functions that take the array, then the other arguments of a call.
_OfArray: TypeAlias = Callable[[Axes, Any, list[Any], dict[str, Any]], Any]


def _with_arguments(function: Callable[..., Any]) -> _OfArray:
    """Let a function take the other arguments of a call as its own."""
    signature = inspect.signature(function)

    def call(axes: Axes, value: Any, positional: list[Any], keywords: dict[str, Any]) -> Any:
        try:
            signature.bind(axes, value, *positional, **keywords)
        except TypeError as error:
            raise NotExpressible(f"a call of {function.__name__}: {error}") from None
        return function(axes, value, *positional, **keywords)

    return call


# Those for arrays with a shape.
_ARRAY_METHODS: Mapping[str, _OfArray] = {
    **{name: functools.partial(reductions.reduce, name) for name in REDUCTIONS},
    **{name: functools.partial(views.flatten, name) for name in ("ravel", "flatten")},
    "reshape": views.reshape,
    "squeeze": views.squeeze,
    "swapaxes": _with_arguments(slicing.swapaxes),
    "transpose": _with_arguments(slicing.transpose_method),
}
_ARRAY_FUNCTIONS: Mapping[Any, _OfArray] = {
    **{getattr(np, name): _ARRAY_METHODS[name] for name in REDUCTIONS},
    **{getattr(np, name).reduce: functools.partial(reductions.reduce_by, of) for name, of in UFUNC_REDUCTIONS.items()},
    np.amax: _ARRAY_METHODS["max"],
    np.amin: _ARRAY_METHODS["min"],
    np.expand_dims: _with_arguments(slicing.expand_dims),
    np.flip: _with_arguments(slicing.flip),
    np.moveaxis: _with_arguments(slicing.moveaxis),
    np.reshape: views.reshape,
    np.roll: _with_arguments(slicing.roll),
    np.split: _with_arguments(slicing.split),
    np.squeeze: views.squeeze,
    np.swapaxes: _ARRAY_METHODS["swapaxes"],
    np.take_along_axis: _with_arguments(gathering.take_along_axis),
    np.transpose: _with_arguments(slicing.transpose),
}


_OF_SELECT = ("condlist", "choicelist", "default")
# Functions that join the arrays of a tuple.
_JOINING: Mapping[Any, _OfArray] = {
    np.concatenate: _with_arguments(slicing.concatenate),
    np.hstack: _with_arguments(slicing.hstack),
    np.stack: _with_arguments(slicing.stack),
    np.vstack: _with_arguments(slicing.vstack),
}


def call_function(called: Any, call: Call) -> Any:
    """Return the value or expression that a call of a function of Python's or of a package's gives."""
    positional, keywords, axes = call.positional, call.keywords, call.axes
    function, is_like = operations.find(called), any(called is like for like in operations.LIKE)
    if axes.has_ranks:
        of_array = operations.look_up(_ARRAY_FUNCTIONS, called)
        if of_array is not None and positional and axes.has(positional[0]):
            return of_array(axes, positional[0], positional[1:], keywords)
        joining = operations.look_up(_JOINING, called)
        if joining is not None and positional and isinstance(positional[0], tuple):
            return joining(axes, positional[0], positional[1:], keywords)
        if called is len and positional and axes.shape_of(positional[0]):
            return views.lengths(axes, positional[0])[0]
        if function is None and not is_like:
            for value in (*positional, *keywords.values()):
                require_known(value)
        if operations.look_up(operations.FILLED, called) is not None and positional:
            return _filled(operations.FILLED[called], call)
        at = operations.look_up(operations.AT, called)
        if at is not None and len(positional) == 3 and not keywords and axes.has(positional[0]):
            array, indices, value = positional
            parts = indices if isinstance(indices, tuple) else (indices,)
            return gathering.scatter(axes, at, array, parts, value)
        if called is np.arange and len(positional) == 1 and not keywords and isinstance(positional[0], Extent):
            return views.count_to(axes, positional[0])
    substitute = substitutes.find(called, len(positional) + len(keywords))
    if substitute is not None:
        return _substituted(substitute, positional, call)
    if function is not None:
        return _universal(function, call) if isinstance(called, np.ufunc) else _elementwise(function, call)
    if called is np.select:
        return _select(call)
    if is_like:
        return _like(operations.LIKE[called], call)
    if any(called is known for known in operations.CONVERSIONS) and len(positional) == 1 and not keywords:
        (number,) = positional
        if isinstance(number, Node) and not is_array(number):
            return convert(number, called(1), axes)
    if any(called is known for known in operations.STATIC):
        return compute(lambda *values: called(*values, **keywords), (*positional, *keywords.values()))
    raise NotExpressible(f"a call of {call.text}")


def call_method(owner: Node, name: str, call: Call) -> Any:
    """Return the value or expression that a call of an array's method gives."""
    positional, keywords, axes = call.positional, call.keywords, call.axes
    if axes.is_ranked(owner) and name in _ARRAY_METHODS:
        return _ARRAY_METHODS[name](axes, owner, positional, keywords)
    if not is_array(owner):
        raise NotExpressible(f"the method {name!r} of a number")
    if name == "astype" and (len(positional), set(keywords) - {"copy"}) in ((1, set()), (0, {"dtype"})):
        dtype = compute(np.dtype, (positional[0] if positional else keywords["dtype"],))
        if keywords.get("copy") is False and dtype == dtype_of(owner):
            return owner
        return convert(owner, np.ones(1, dtype), axes)
    if name == "clip":
        return call_function(np.clip, replace(call, positional=[owner, *positional]))
    if name in ("conj", "conjugate") and not keywords:
        return call_function(np.conjugate, replace(call, positional=[owner, *positional]))
    if name == "copy" and not positional and not keywords:
        return convert(owner, owner.sample, axes)
    if name in substitutes.METHODS:
        return _substituted(substitutes.METHODS[name], [owner, *positional], call)
    raise NotExpressible(f"the method {name!r}")


def _substituted(substitute: Callable[..., Any], positional: list[Any], call: Call) -> Any:
    try:
        return call.evaluate(substitute, positional, call.keywords)
    except NotExpressible as refusal:
        # The place would be in our code, not in the user's.
        if refusal.specialize_on:
            raise NotExpressible(refusal.reason, specialize_on=refusal.specialize_on) from None
        raise call.misfit() from None


def _elementwise(function: Function, call: Call) -> Any:
    positional, keywords = call.positional, call.keywords
    if function.name == "clip":
        operands = clip_operands(positional, keywords)
        if operands is None:
            raise call.misfit()
        return apply(function, operands, call.axes)
    count = {"where": 3, "rint": 1}.get(function.name, len(positional))
    if keywords or len(positional) != count:
        raise call.misfit()
    return apply(function, positional, call.axes)


def _universal(function: Function, call: Call) -> Any:
    """Return what a universal function gives, with its options; the caller assigns it to ``out``."""
    n, axes, options = function.function.nin, call.axes, dict(call.keywords)  # type: ignore[attr-defined]
    operands, (out, *more) = call.positional[:n], [*call.positional[n:], options.pop("out", None)]
    where, dtype = options.pop("where", True), options.pop("dtype", None)
    if options or len(operands) < n or (more and more != [None]) or not (out is None or axes.has(out)):
        raise call.misfit()
    if dtype is None:
        value = apply(function, operands, axes)
    else:
        dtype = compute(np.dtype, (dtype,))
        if f"{dtype.char * n}->{dtype.char}" not in function.function.types:  # type: ignore[attr-defined]
            raise call.misfit()
        value = apply(function, [_as_same_kind(each, dtype, call) for each in operands], axes)
    if where is True:
        return value
    if not is_array(where) or dtype_of(where) != np.bool_:
        raise call.misfit()
    if out is not None:
        value = _as_same_kind(value, dtype_of(out), call)
    # Elsewhere, a new array has any values.
    otherwise = dtype_of(value).type(0) if out is None else out
    return apply(Function("where", np.where), [where, value, otherwise], axes)


def _as_same_kind(value: Any, dtype: np.dtype, call: Call) -> Any:
    """Return an operand in a dtype that NumPy converts it to."""
    if isinstance(value, Node):
        if not np.can_cast(dtype_of(value), dtype, "same_kind"):
            raise call.misfit()
    elif not is_same_kind(value, dtype):
        raise call.misfit()
    return _as(dtype, value, call.axes)


def _select(call: Call) -> Any:
    """Return the elements of the first choices whose conditions hold."""
    given = dict(zip(_OF_SELECT, call.positional)) | call.keywords
    conditions, choices, default = (given.pop(name, 0) for name in _OF_SELECT)
    if given or not isinstance(conditions, tuple) or not isinstance(choices, tuple):
        raise call.misfit()
    if not all(is_array(each) and dtype_of(each) == np.bool_ for each in conditions):
        raise call.misfit()
    flags, values = [np.ones(1, np.bool_)] * len(conditions), [getattr(each, "sample", each) for each in choices]
    dtype = compute(np.select, (flags, values, getattr(default, "sample", default))).dtype
    *converted, value = [_as(dtype, each, call.axes) for each in (*choices, default)]
    for condition, choice in reversed(list(zip(conditions, converted))):
        value = apply(Function("where", np.where), [condition, choice, value], call.axes)
    return value


def _as(dtype: np.dtype, value: Any, axes: Axes) -> Any:
    if isinstance(value, Node):
        return convert(value, np.ones(1, dtype) if is_array(value) else dtype.type(1), axes)
    return compute(dtype.type, (value,))


def _filled(value: int, call: Call) -> Node:
    """Return an array of lengths that are known at run time."""
    given = dict(zip(("shape", "dtype"), call.positional)) | call.keywords
    shape = given.pop("shape")
    dtype = compute(np.dtype, (given.pop("dtype", np.float64),))
    if given or len(call.positional) > 2:
        raise call.misfit()
    lengths = shape if isinstance(shape, tuple) else (shape,)
    return _constant(value, dtype, call.axes.of_lengths([calculation(length) for length in lengths]), call)


def _like(filled: int | None, call: Call) -> Node:
    """Return an array of the shape of another, as `np.full_like` and its like do."""
    values = [*call.positional, *([] if filled is None else [filled])]
    if len(values) != 2 or not is_array(values[0]) or set(call.keywords) - {"dtype"} or is_array(values[1]):
        raise call.misfit()
    like, value = values
    dtype = compute(np.dtype, (call.keywords.get("dtype", dtype_of(like)),))
    # Its value does not depend on `like`, but its shape does.
    return _constant(value, dtype, call.axes.shape_of(like), call)


def _constant(value: Any, dtype: np.dtype, shape: Shape, call: Call) -> Node:
    """Return an array of a shape that is filled with a value."""
    if dtype.kind not in KINDS or dtype.itemsize > LARGEST:
        raise call.misfit()
    made = Operation(np.ones(1, dtype), name="convert", operands=(value,), dtype=dtype)
    call.axes.note(made, shape)
    return made
