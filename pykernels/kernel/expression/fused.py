"""Recognise kernels of whole-array expressions and reductions, which do not need numba."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from pykernels.base.dtypes import seen_as
from pykernels.kernel.expression.axes import Axes, Shape
from pykernels.kernel.expression.evaluation import evaluate
from pykernels.kernel.expression.nodes import Node, NotExpressible, dtype_of
from pykernels.kernel.read.signature import ANY_RANK, Signature
from pykernels.kernel.read.source import KernelFunction

# As kMaxTensors in elementwise.cpp.
_MAX_TENSORS = 32


@dataclass(frozen=True)
class Fused:
    """What a fused kernel computes."""

    outputs: tuple[Node, ...]
    #: The shapes of all nodes.
    axes: Axes
    #: The axes of every tensor, inputs first.
    tensors: tuple[Shape, ...]
    #: What it is compiled for.
    signature: Signature

    @property
    def is_elementwise(self) -> bool:
        """Whether it serves tensors of any rank: each has one axis, that of its elements."""
        return not self.signature.has_ranks


def recognise(kernel: KernelFunction, signature: Signature, *, separates_views: bool = False) -> Fused:
    """Return the expression that a kernel computes for a signature; it must be elementwise if there are no ranks.

    Parameters
    ----------
    separates_views : bool
        As for `Axes`.

    Raises
    ------
    SharedAxes
        It needs `separates_views`, if that is not set.
    NotExpressible
        The kernel has no such expression, or its results are not what the signature says.
    """
    where = kernel.place
    if not signature.has_ranks and len(signature.tensors) > _MAX_TENSORS:
        raise NotExpressible(f"it has more than {_MAX_TENSORS} tensors", where)
    if signature.has_ranks and any(tensor.dtype.kind == "c" for tensor in signature.tensors):
        raise NotExpressible("it computes with complex numbers", where)
    axes, tensors = axes_of(signature, separates_views=separates_views)
    outputs = evaluate(kernel, signature, axes, tensors)
    for tensor, output in zip(signature.tensors[signature.n_inputs :], outputs):
        if not axes.has(output):
            raise NotExpressible("it returns what is not an array that is computed from an input", where)
        if dtype_of(output) != seen_as(tensor.dtype):
            raise NotExpressible(f"it returns {dtype_of(output)} for an output of {tensor.dtype}", where)
        if tensor.ndim not in (len(axes.shape_of(output)), ANY_RANK):
            raise NotExpressible(f"it returns {len(axes.shape_of(output))} axes for an output of {tensor.ndim}", where)
    return Fused(outputs, axes, tensors, signature)


def axes_of(signature: Signature, *, separates_views: bool = False) -> tuple[Axes, tuple[Shape, ...]]:
    """Return the axes of every tensor: one that is broadcast with all others, if their ranks are unknown."""
    positions = itertools.count()
    ranks = [each.ndim if signature.has_ranks else 1 for each in signature.tensors]
    tensors = tuple(tuple(frozenset({next(positions)}) for _ in range(rank)) for rank in ranks)
    axes = Axes(sum(ranks), has_ranks=signature.has_ranks, separates_views=separates_views)
    if not signature.has_ranks:
        axes.broadcast(tensors)
    return axes, tensors
