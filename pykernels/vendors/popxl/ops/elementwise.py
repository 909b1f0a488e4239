"""Define elementwise ops, which broadcast operands as NumPy does, and their variants that change a tensor in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.context import get_current_context, named_op, op_debug_context
from pykernels.vendors.popxl.nodes import assign, node, nodes
from pykernels.vendors.popxl.op import Detach
from pykernels.vendors.popxl.ops.utils import cast_if_needed, check_like
from pykernels.vendors.popxl.tensor import Tensor, constant


def _unary(name: str, type_: str, what: str) -> Callable[[Tensor], Tensor]:
    return named_op(name, f"Return {what}.", lambda t: node(type_, t))


def _binary(name: str, type_: str, what: str, **attributes: Any) -> Callable[[Tensor, Tensor], Tensor]:
    def op(lhs: Tensor, rhs: Tensor) -> Tensor:
        check_like(lhs=lhs, rhs=rhs)
        return node(type_, lhs, rhs, **attributes)

    doc = f"Return {what}, element by element; CallError unless dtypes are equal and shapes broadcast."
    return named_op(name, doc, op)


abs = _unary("abs", "Abs", "the absolute value of every element")
ceil = _unary("ceil", "Ceil", "every element rounded up")
cos = _unary("cos", "Cos", "the cosine of every element")
exp = _unary("exp", "Exp", "the exponential of every element")
floor = _unary("floor", "Floor", "every element rounded down")
isinf = _unary("isinf", "IsInf", "whether each element is infinite")
isnan = _unary("isnan", "IsNaN", "whether each element is NaN")
log = _unary("log", "Log", "the natural logarithm of every element")
logical_not = _unary("logical_not", "Not", "the logical negation of every element")
negate = _unary("negate", "Neg", "the negative of every element")
relu = _unary("relu", "Relu", "the larger of every element and 0")
sign = _unary("sign", "Sign", "the sign (-1, 0 or 1) of every element")
sin = _unary("sin", "Sin", "the sine of every element")
sqrt = _unary("sqrt", "Sqrt", "the square root of every element")
tanh = _unary("tanh", "Tanh", "the hyperbolic tangent of every element")

add = _binary("add", "Add", "sums")
div = _binary("div", "Div", "quotients")
equal = _binary("equal", "Equal", "whether elements are equal")
fmod = _binary("fmod", "Mod", "remainders with the sign of the dividend, as C's ``fmod``", fmod=1)
logical_and = _binary("logical_and", "And", "whether both are true")
logical_or = _binary("logical_or", "Or", "whether at least one is true")
mul = _binary("mul", "Mul", "products")
sub = _binary("sub", "Sub", "differences")


@op_debug_context
def greater(input: Tensor, other: Tensor) -> Tensor:
    """Return whether elements of `input` are greater than those of `other`; errors are those of `add`."""
    check_like(input=input, other=other)
    return node("Greater", input, other)


@op_debug_context
def maximum(*ts: Tensor) -> Tensor:
    """Return the elementwise maximum of one or more tensors; errors are those of `add`."""
    if not ts:
        raise CallError("maximum: no tensor is given")
    check_like(**{f"ts[{at}]": t for at, t in enumerate(ts)})
    greatest = ts[0]
    for t in ts[1:]:
        greatest = where(greater(greatest, t), greatest, t)
    return greatest


@op_debug_context
def pow(t: Tensor, e: Any) -> Tensor:
    """Return the elements of `t` to the power of `e`, a tensor or a number."""
    exponent = t._ensure_tensor(e)
    check_like(t=t, e=exponent)
    return node("Pow", t, exponent)


@op_debug_context
def log2(t: Tensor) -> Tensor:
    """Return the base-2 logarithm of every element."""
    return log(t) * (1 / math.log(2))


@op_debug_context
def isfinite(t: Tensor) -> Tensor:
    """Return whether each element is finite: neither infinite nor NaN."""
    return logical_not(logical_or(isinf(t), isnan(t)))


@op_debug_context
def swish(t: Tensor) -> Tensor:
    """Return every element times its logistic sigmoid."""
    return t * node("Sigmoid", t)


@op_debug_context
def gelu(t: Tensor) -> Tensor:
    """Return the Gaussian error linear unit (arXiv:1606.08415), in the tanh approximation that PopXL uses."""
    inner = (t + t * t * t * 0.044715) * math.sqrt(2 / math.pi)
    return t * (tanh(inner) + 1) * 0.5


@op_debug_context
def geluerf(t: Tensor) -> Tensor:
    """Return the Gaussian error linear unit (arXiv:1606.08415), computed with the error function."""
    return t * (node("Erf", t * (1 / math.sqrt(2))) + 1) * 0.5


@op_debug_context
def clip(t: Tensor, min: float = -math.inf, max: float = math.inf) -> Tensor:
    """Return the elements limited to the range from `min` to `max`."""
    get_current_context().graph.check_holds(t=t)
    if min > max:
        raise CallError(f"clip: min is {min}, which is greater than max, {max}")
    if not t.dtype.is_floating_point:
        raise CallError(f"clip: {t!r} has no floating point numbers")
    return node("Clip", t, constant(min, t.dtype), constant(max, t.dtype))


clamp = clip


@op_debug_context
def where(condition: Tensor, lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return elements of `lhs` where the condition holds, and of `rhs` elsewhere."""
    check_like(lhs=lhs, rhs=rhs)
    return node("Where", condition, lhs, rhs)


@op_debug_context
def identity(t: Tensor, output_name: str | None = None) -> Tensor:
    """Return a copy of a tensor."""
    return node("Identity", t, name=output_name)


@op_debug_context
def detach(t: Tensor) -> Tensor:
    """Return a copy of a tensor that blocks gradients."""
    (made,) = nodes("Identity", [t], 1, kind=Detach)
    return made


def _in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    doc = f"Compute `{function.__name__}` and write the result over the first tensor."
    return named_op(f"{function.__name__}_", doc, lambda *tensors: assign(tensors[0], function(*tensors)))


add_ = _in_place(add)
exp_ = _in_place(exp)
gelu_ = _in_place(gelu)
geluerf_ = _in_place(geluerf)
relu_ = _in_place(relu)
swish_ = _in_place(swish)


@op_debug_context
def scaled_add(
    X: Tensor,  # noqa: N803
    Y: Tensor,  # noqa: N803
    a: float | Tensor = 1.0,
    b: float | Tensor = 1.0,
) -> Tensor:
    """Return ``a * X + b * Y`` with the dtype of `X`.

    Parameters
    ----------
    X, Y : Tensor
        Tensors of the same shape, whose dtypes may differ.
    a, b : Tensor or number
        Scalar factors.

    Raises
    ------
    CallError
        The shapes differ, or a factor is not a scalar.
    """
    context = get_current_context()
    context.graph.check_holds(X=X, Y=Y)
    if X.shape != Y.shape:
        raise CallError(f"{context.op_name}: {X!r} and {Y!r} must have the same shape")
    return _scaled(X, a, X) + _scaled(Y, b, X)


@op_debug_context
def scaled_add_(
    X: Tensor,  # noqa: N803
    Y: Tensor,  # noqa: N803
    a: float | Tensor = 1.0,
    b: float | Tensor = 1.0,
) -> Tensor:
    """Compute `scaled_add` and write the result to `X`."""
    return assign(X, scaled_add(X, Y, a, b))


def _scaled(t: Tensor, factor: float | Tensor, like: Tensor) -> Tensor:
    t = cast_if_needed(t, like.dtype)
    if isinstance(factor, (int, float)) and factor == 1:
        return t
    scale = t._ensure_tensor(factor)
    if scale.nelms != 1 or scale.rank > t.rank:
        raise CallError(f"{get_current_context().op_name}: {scale!r} is not a scalar")
    return t * cast_if_needed(scale, t.dtype)
