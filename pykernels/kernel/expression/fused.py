"""Recognise a kernel of whole-array expressions and reductions that needs no numba."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pykernels.base import abi
from pykernels.kernel.expression.array_evaluation import ArrayEvaluation
from pykernels.kernel.expression.axes import Axes, Shape
from pykernels.kernel.expression.nodes import Input, Keyword, Node, NotElementwise, dtype_of
from pykernels.kernel.expression.view_evaluation import Unfixed
from pykernels.kernel.read.signature import Signature, group_shapes
from pykernels.kernel.read.source import KernelFunction

__all__ = ["Fused", "Unfit", "recognise"]


class Unfit(Exception):
    """The kernel has no fused form; the message is the reason, short enough for one line.

    Attributes
    ----------
    names : tuple of str
        The attributes whose values would have to be known.
    """

    def __init__(self, reason: str, names: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.names = names


@dataclass(frozen=True)
class Fused:
    """What a kernel computes.

    Attributes
    ----------
    outputs : tuple of Node
    axes : Axes
        The shapes of all nodes.
    tensors : tuple of Shape
        The axes of every tensor, inputs first.
    dtypes : tuple of dtype
        Theirs.
    n_inputs, n_scalars : int
        How many of them are inputs; how many numbers are given at run time.
    """

    outputs: tuple[Node, ...]
    axes: Axes
    tensors: tuple[Shape, ...]
    dtypes: tuple[np.dtype, ...]
    n_inputs: int
    n_scalars: int


def recognise(kernel: KernelFunction, signature: Signature) -> Fused:
    """The expression that a kernel computes for a signature.

    Raises
    ------
    Unfit
        It computes something else, or its results are not what the signature says.
    """
    where = f"{kernel.path.name}:{kernel.line}"
    if kernel.takes_outs:
        raise Unfit(f"{where}: it writes into 'outs'")
    if signature.mutable:
        raise Unfit(f"{where}: it may change an input")
    axes, tensors, inputs = Axes(sum(tensor.ndim for tensor in signature.tensors)), [], []
    position = 0
    for at, tensor in enumerate(signature.tensors):
        tensors.append(tuple(frozenset({position + axis}) for axis in range(tensor.ndim)))
        position += tensor.ndim
        if at < signature.n_inputs:
            inputs.append(Input(np.ones(1, tensor.dtype), frozenset({at}), position=at))
            axes.note(inputs[-1], tensors[-1])
    keywords: dict[str, Any] = dict(signature.constants)
    for slot, (name, _) in enumerate(signature.scalars):
        sample = True if name in signature.flags else 1.0 if name in signature.reals else 1
        keywords[name] = Keyword(sample, slot=slot)
    args = group_shapes(signature.inputs, iter(inputs))
    try:
        result = ArrayEvaluation(kernel.function, kernel.helpers, 0, axes).run([args], keywords)
    except NotElementwise as reason:
        raise Unfit(str(reason)) from None
    except Unfixed as reason:
        names = tuple(signature.scalars[slot][0] for slot in sorted(reason.slots))
        fixable = all(
            position != abi.SCALAR_IS_TRAIN and name not in signature.reals
            for name, position in (signature.scalars[slot] for slot in reason.slots)
        )
        raise Unfit(f"{where}: it branches on {', '.join(names)}", names if fixable else ()) from None
    outputs = result if isinstance(result, tuple) else (result,)
    expected = signature.tensors[signature.n_inputs :]
    if len(outputs) != len(expected):
        raise Unfit(f"{where}: it returns {len(outputs)} results for {len(expected)} outputs")
    for tensor, output in zip(expected, outputs):
        if not axes.has(output):
            raise Unfit(f"{where}: it returns what is not computed from an input")
        if dtype_of(output) != tensor.dtype:
            raise Unfit(f"{where}: it returns {dtype_of(output)} for an output of {tensor.dtype}")
        if len(axes.shape_of(output)) != tensor.ndim:
            raise Unfit(f"{where}: it returns {len(axes.shape_of(output))} axes for an output of {tensor.ndim}")
    dtypes = tuple(tensor.dtype for tensor in signature.tensors)
    return Fused(outputs, axes, tuple(tensors), dtypes, signature.n_inputs, len(signature.scalars))
