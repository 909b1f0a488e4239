"""Losses."""

from __future__ import annotations

from typing import Literal

import numpy as np

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.nodes import node
from pykernels.vendors.popxl.ops import elementwise, reductions, shapes
from pykernels.vendors.popxl.ops.utils import cast_if_needed
from pykernels.vendors.popxl.tensor import Tensor, constant

__all__ = ["nll_loss", "nll_loss_with_softmax_grad"]

Reduction = Literal["mean", "sum", "none"]
#: No probability counts as less than this, by dtype; PopART's.
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
    """The negative logarithm of the probability that is given to the right class.

    Parameters
    ----------
    probs : Tensor
        Probabilities, of shape (..., classes); their logarithms with `log_prob`.
    labels : Tensor
        The right classes, integers of shape (...).
    ignore_index : int, optional
        A label that does not count.
    reduction : str
        "mean" of the labels that count, "sum", or "none".
    log_prob : bool

    Raises
    ------
    CallError
        Shapes do not go together, labels are no integers, or there is no such reduction.
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
    """The loss as of `nll_loss`, and its gradient with respect to what `probs` are the softmax of.

    Parameters
    ----------
    probs, labels, ignore_index, reduction
        As for `nll_loss`, whose errors are raised.
    loss_grad : Tensor or number
        The gradient of the loss, of its shape or a scalar.
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
    """Which elements of `probs` are those of the right classes, and which labels count."""
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
    """How many labels count, 1 if none does."""
    if counted is None:
        return constant(max(labels.nelms, 1), probs.dtype)
    return node("Max", reductions.sum(elementwise.cast(counted, probs.dtype)), constant(1, probs.dtype))
