"""Recognise an elementwise kernel, and give its expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pykernels.kernel.expression.evaluation import Evaluation
from pykernels.kernel.expression.nodes import Input, Keyword, Node, NotElementwise, dtype_of, is_array
from pykernels.kernel.read.signature import Signature, group_shapes
from pykernels.kernel.read.source import KernelFunction

__all__ = ["Elementwise", "NotElementwise", "recognise"]

# As kMaxTensors in elementwise.cpp.
_MAX_TENSORS = 32


@dataclass(frozen=True)
class Elementwise:
    """What an elementwise kernel computes.

    Attributes
    ----------
    outputs : tuple of Node
        One element of each output.
    inputs : tuple of dtype
        Of every input, whether it is used or not.
    """

    outputs: tuple[Node, ...]
    inputs: tuple[np.dtype, ...]


def recognise(kernel: KernelFunction, signature: Signature) -> Elementwise:
    """The expression that a kernel computes for the dtypes of a signature; its ranks do not matter.

    Raises
    ------
    NotElementwise
        The kernel is not elementwise, or its results are not what the signature says.
    """
    tensors = signature.tensors
    # Without the folder: the reason is kept in the cache, which serves copies of the file, too.
    where = f"{kernel.path.name}:{kernel.line}"
    if kernel.takes_outs:
        raise NotElementwise(f"{where}: it writes into 'outs'")
    if signature.mutable:
        raise NotElementwise(f"{where}: it may change an input")
    if len(tensors) > _MAX_TENSORS:
        raise NotElementwise(f"{where}: it has more than {_MAX_TENSORS} tensors")
    inputs = [
        Input(np.ones(1, tensor.dtype), frozenset({at}), position=at)
        for at, tensor in enumerate(tensors[: signature.n_inputs])
    ]
    keywords: dict[str, Any] = dict(signature.constants)
    for slot, (name, _) in enumerate(signature.scalars):
        sample = True if name in signature.flags else 1.0 if name in signature.reals else 1
        keywords[name] = Keyword(sample, slot=slot)
    args = group_shapes(signature.inputs, iter(inputs))
    result = Evaluation(kernel.function, kernel.helpers, 0).run([args], keywords)
    outputs = result if isinstance(result, tuple) else (result,)
    expected = tensors[signature.n_inputs :]
    if len(outputs) != len(expected):
        raise NotElementwise(f"{where}: it returns {len(outputs)} results for {len(expected)} outputs")
    for tensor, output in zip(expected, outputs):
        if not is_array(output) or not output.inputs:
            raise NotElementwise(f"{where}: it returns what is not an array of the shape of an input")
        if dtype_of(output) != tensor.dtype:
            raise NotElementwise(f"{where}: it returns {dtype_of(output)} for an output of {tensor.dtype}")
    return Elementwise(outputs, tuple(tensor.dtype for tensor in tensors[: signature.n_inputs]))
