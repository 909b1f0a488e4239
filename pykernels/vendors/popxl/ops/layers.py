"""Define the ops of network layers (matrix product, softmax, normalization) and losses."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.dtypes import dtype
from pykernels.vendors.popxl.nodes import cast, node
from pykernels.vendors.popxl.ops import elementwise, reductions, shapes
from pykernels.vendors.popxl.ops.utils import cast_if_needed, check_like, handle_negative_axis
from pykernels.vendors.popxl.tensor import Tensor, constant


@op_debug_context
def matmul(
    lhs: Tensor,
    rhs: Tensor,
    available_memory_proportion: float | None = None,
    output_type: dtype | None = None,
    partials_type: Any = None,
) -> Tensor:
    """Return the matrix product, as ``numpy.matmul`` does.

    Parameters
    ----------
    lhs, rhs : Tensor
    available_memory_proportion, partials_type
        Accepted without effect: settings for an IPU.
    output_type : dtype, optional
        The dtype to which the product is cast.
    """
    check_like(lhs=lhs, rhs=rhs)
    product = node("MatMul", lhs, rhs)
    return product if output_type is None else cast(product, output_type)


@op_debug_context
def softmax(t: Tensor, axis: int) -> Tensor:
    """Return the exponentials of the elements, divided by their sum along an axis."""
    get_current_context().graph.check_holds(t=t)
    return node("Softmax", t, axis=handle_negative_axis(t, axis))


@op_debug_context
def layer_norm(t: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Normalize to mean 0 and variance 1 along the last axis, multiply by `weight` and add `bias`."""
    check_like(t=t, weight=weight, bias=bias)
    centred = t - reductions.mean(t, -1, True)
    variance = reductions.mean(centred * centred, -1, True)
    return centred / elementwise.sqrt(variance + eps) * weight + bias


Reduction = Literal["mean", "sum", "none"]
#: The lower bound of probabilities by dtype, as in PopART.
_LEAST = {"float16": 6.104e-05}
_LEAST_OTHERWISE = 1e-7


@op_debug_context
def nll_loss(
    probs: Tensor,
    labels: Tensor,
    ignore_index: int | None = None,
    reduction: Reduction = "mean",
    log_prob: bool = False,
) -> Tensor:
    """Return the negative log-likelihood loss: the negative logarithm of the target class's probability.

    Parameters
    ----------
    probs : Tensor
        Probabilities of shape (..., classes), or their logarithms with `log_prob`.
    labels : Tensor
        The target classes, integers of shape (...).
    ignore_index : int, optional
        A label to ignore.
    reduction : str
        "mean" over the labels that are not ignored, "sum", or "none".
    log_prob : bool
        Whether `probs` are logarithms of probabilities.

    Raises
    ------
    CallError
        The shapes do not match, the dtypes are not a floating-point one and an integer one, or `reduction` is unknown.
    """
    right, counted = _classes(probs, labels, ignore_index, reduction)
    chosen = reductions.sum(elementwise.where(right, probs, constant(0, probs.dtype)), -1)
    if not log_prob:
        least = constant(_LEAST.get(probs.dtype.name, _LEAST_OTHERWISE), probs.dtype)
        chosen = elementwise.log(elementwise.maximum(chosen, least))
    loss = -chosen
    if counted is not None:
        loss = elementwise.where(counted, loss, constant(0, loss.dtype))
    if reduction == "none":
        return loss
    total = reductions.sum(loss)
    return total / _count(probs, labels, counted) if reduction == "mean" else total


@op_debug_context
def nll_loss_with_softmax_grad(
    probs: Tensor,
    labels: Tensor,
    loss_grad: float | Tensor = 1,
    ignore_index: int | None = None,
    reduction: Reduction = "mean",
) -> tuple[Tensor, Tensor]:
    """Return the loss of `nll_loss`, and its gradient with respect to the logits whose softmax is `probs`.

    Parameters
    ----------
    probs, labels, ignore_index, reduction
        As for `nll_loss`, including errors.
    loss_grad : Tensor or number
        The gradient of the loss: a scalar, or a tensor of the loss's shape.
    """
    loss = nll_loss(probs, labels, ignore_index, reduction)
    right, counted = _classes(probs, labels, ignore_index, reduction)
    grad = probs - cast_if_needed(right, probs.dtype)
    given = cast_if_needed(probs._ensure_tensor(loss_grad), probs.dtype)
    if given.shape not in ((), loss.shape):
        raise CallError(f"nll_loss_with_softmax_grad: loss_grad is {given!r}; the loss has the shape {loss.shape}")
    if given.rank:
        given = shapes.reshape(given, (*given.shape, 1))
    if reduction == "mean":
        given = given / _count(probs, labels, counted)
    grad = grad * given
    if counted is not None:
        last = shapes.reshape(counted, (*counted.shape, 1))
        grad = elementwise.where(last, grad, constant(0, grad.dtype))
    return loss, grad


def _classes(probs: Tensor, labels: Tensor, ignore_index: int | None, reduction: str) -> tuple[Tensor, Tensor | None]:
    """Return masks of the target classes in `probs`, and of the labels that are not ignored (None for all labels)."""
    context = get_current_context()
    context.graph.check_holds(probs=probs, labels=labels)
    if reduction not in ("mean", "sum", "none"):
        raise CallError(f"{context.op_name}: reduction is {reduction!r}; it must be 'mean', 'sum' or 'none'")
    if not labels.dtype.is_int or not probs.dtype.is_floating_point or labels.shape != probs.shape[:-1]:
        raise CallError(
            f"{context.op_name}: probs are {probs!r}, labels {labels!r}; probs must be floating point numbers of shape "
            "(..., classes), and labels integers of shape (...)"
        )
    numbers = constant(np.arange(probs.shape[-1]), labels.dtype)
    right = elementwise.equal(shapes.reshape(labels, (*labels.shape, 1)), numbers)
    if ignore_index is None:
        return right, None
    ignored = elementwise.equal(labels, constant(ignore_index, labels.dtype))
    return right, elementwise.logical_not(ignored)


def _count(probs: Tensor, labels: Tensor, counted: Tensor | None) -> Tensor:
    """Return the number of labels that are not ignored, at least 1."""
    if counted is None:
        return constant(max(labels.nelms, 1), probs.dtype)
    return node("Max", reductions.sum(cast(counted, probs.dtype)), constant(1, probs.dtype))
