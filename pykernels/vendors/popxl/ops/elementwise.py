"""Ops that compute every element by itself; operands are broadcast as NumPy's are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.dtypes import check_dtype, dtype
from pykernels.vendors.popxl.nodes import node, nodes
from pykernels.vendors.popxl.op import Detach
from pykernels.vendors.popxl.ops.utils import check_like
from pykernels.vendors.popxl.tensor import Tensor, constant

__all__ = [
    *("abs", "add", "cast", "ceil", "clamp", "clip", "cos", "detach", "div", "equal", "exp", "floor", "fmod", "gelu"),
    *("geluerf", "greater", "identity", "isfinite", "isinf", "isnan", "log", "log2", "logical_and", "logical_not"),
    *("logical_or", "maximum", "mul", "negate", "pow", "relu", "rename", "sign", "sin", "sqrt", "sub", "swish", "tanh"),
    "where",
]


def _unary(name: str, type_: str, what: str) -> Callable[[Tensor], Tensor]:
    @op_debug_context(name)
    def op(t: Tensor) -> Tensor:
        return node(type_, t)

    op.__name__ = op.__qualname__ = name
    op.__doc__ = f"{what} of every element."
    return op


def _binary(name: str, type_: str, what: str) -> Callable[[Tensor, Tensor], Tensor]:
    @op_debug_context(name)
    def op(lhs: Tensor, rhs: Tensor) -> Tensor:
        check_like(lhs=lhs, rhs=rhs)
        return node(type_, lhs, rhs)

    op.__name__ = op.__qualname__ = name
    op.__doc__ = f"{what}; CallError unless dtypes are the same and shapes go together."
    return op


abs = _unary("abs", "Abs", "The absolute value")
ceil = _unary("ceil", "Ceil", "The least integer that is not less")
cos = _unary("cos", "Cos", "The cosine")
exp = _unary("exp", "Exp", "The exponential")
floor = _unary("floor", "Floor", "The greatest integer that is not greater")
isinf = _unary("isinf", "IsInf", "Whether it is infinite")
isnan = _unary("isnan", "IsNaN", "Whether it is not a number")
log = _unary("log", "Log", "The natural logarithm")
logical_not = _unary("logical_not", "Not", "Whether it is false")
negate = _unary("negate", "Neg", "The negative")
relu = _unary("relu", "Relu", "The greater of it and 0")
sign = _unary("sign", "Sign", "The sign, as -1, 0 or 1")
sin = _unary("sin", "Sin", "The sine")
sqrt = _unary("sqrt", "Sqrt", "The square root")
tanh = _unary("tanh", "Tanh", "The hyperbolic tangent")

add = _binary("add", "Add", "Sums")
div = _binary("div", "Div", "Quotients")
equal = _binary("equal", "Equal", "Whether elements are equal")
logical_and = _binary("logical_and", "And", "Whether both are true")
logical_or = _binary("logical_or", "Or", "Whether one is true")
mul = _binary("mul", "Mul", "Products")
sub = _binary("sub", "Sub", "Differences")


@op_debug_context
def fmod(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Remainders with the sign of the dividend, as C's ``fmod``; errors are those of `add`."""
    check_like(lhs=lhs, rhs=rhs)
    return node("Mod", lhs, rhs, fmod=1)


@op_debug_context
def greater(input: Tensor, other: Tensor) -> Tensor:
    """Whether elements are greater than others; errors are those of `add`."""
    check_like(input=input, other=other)
    return node("Greater", input, other)


@op_debug_context
def maximum(*ts: Tensor) -> Tensor:
    """The greatest of the elements of several tensors; errors are those of `add`."""
    if not ts:
        raise CallError("maximum: there is no tensor to take the greatest elements of")
    check_like(**{f"ts[{at}]": t for at, t in enumerate(ts)})
    greatest = ts[0]
    for t in ts[1:]:
        greatest = where(greater(greatest, t), greatest, t)
    return greatest


@op_debug_context
def pow(t: Tensor, e: Any) -> Tensor:
    """Powers; `e` is a tensor or a number."""
    exponent = t._ensure_tensor(e)
    check_like(t=t, e=exponent)
    return node("Pow", t, exponent)


@op_debug_context
def log2(t: Tensor) -> Tensor:
    """The logarithm to the base of 2 of every element."""
    return log(t) * (1 / math.log(2))


@op_debug_context
def isfinite(t: Tensor) -> Tensor:
    """Whether an element is neither infinite nor not a number."""
    return logical_not(logical_or(isinf(t), isnan(t)))


@op_debug_context
def swish(t: Tensor) -> Tensor:
    """Every element times its logistic function."""
    return t * node("Sigmoid", t)


@op_debug_context
def gelu(t: Tensor) -> Tensor:
    """The Gaussian error linear unit (arXiv:1606.08415) by its approximation with tanh, as PopXL computes it."""
    inner = (t + t * t * t * 0.044715) * math.sqrt(2 / math.pi)
    return t * (tanh(inner) + 1) * 0.5


@op_debug_context
def geluerf(t: Tensor) -> Tensor:
    """The Gaussian error linear unit (arXiv:1606.08415) by the error function."""
    return t * (node("Erf", t * (1 / math.sqrt(2))) + 1) * 0.5


@op_debug_context
def clip(t: Tensor, min: float = -math.inf, max: float = math.inf) -> Tensor:
    """Elements, none less than `min` or greater than `max`."""
    get_current_context().graph.check_holds(t=t)
    if min > max:
        raise CallError(f"clip: min is {min}, which is greater than max, {max}")
    if not t.dtype.is_floating_point:
        raise CallError(f"clip: {t!r} has no floating point numbers")
    return node("Clip", t, constant(min, t.dtype), constant(max, t.dtype))


clamp = clip


@op_debug_context
def cast(t: Tensor, data_type: dtype) -> Tensor:
    """Elements as numbers of another dtype."""
    from onnx import helper

    check_dtype("cast", data_type)
    return node("Cast", t, to=int(helper.np_dtype_to_tensor_dtype(data_type.as_numpy())))


@op_debug_context
def where(condition: Tensor, lhs: Tensor, rhs: Tensor) -> Tensor:
    """Elements of `lhs` where the condition holds, and of `rhs` elsewhere."""
    check_like(lhs=lhs, rhs=rhs)
    return node("Where", condition, lhs, rhs)


@op_debug_context
def identity(t: Tensor, output_name: str | None = None) -> Tensor:
    """A copy."""
    return node("Identity", t, name=output_name)


def rename(t: Tensor, output_name: str | None = None) -> Tensor:
    """A copy, with another name."""
    return identity(t, output_name)


@op_debug_context
def detach(t: Tensor) -> Tensor:
    """A copy that gradients do not go through."""
    (made,) = nodes("Identity", [t], 1, kind=Detach)
    return made
