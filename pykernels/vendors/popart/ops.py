"""Use the ops that users' C++ creates, by number: their outputs, their gradients, and their nodes in a session."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykernels.vendors.popart import loading

if TYPE_CHECKING:
    import onnxruntime

#: The attribute of such an op's node that holds its number.
ATTRIBUTE = "popart_op"


@dataclass(frozen=True)
class TensorType:
    """The type of a tensor: `dtype` is ONNX's number for its element type."""

    dtype: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Description:
    """An op as the node of a model, and the types of its outputs."""

    domain: str
    op_type: str
    outputs: tuple[TensorType, ...]


@dataclass(frozen=True)
class Gradient:
    """An op that computes a gradient of another op."""

    op: int
    #: The inputs by position: ``("GradOut", i)`` is the gradient of output i of the other op, ``("In", i)`` is its
    #: input i, and ``("Out", i)`` is its output i.
    inputs: Mapping[int, tuple[str, int]]
    #: The inputs of the other op that the outputs, by position, are the gradients of.
    outputs: Mapping[int, int]


def infer(op: int, inputs: Sequence[TensorType | None]) -> Description:
    """Set the inputs of an op, None for one that is left out, and return the node with its output types.

    Raise LoadError if the op does not exist, its C++ fails, or nothing computes it.
    """
    given = [each or TensorType(0, ()) for each in inputs]
    dims = [size for each in given for size in each.shape]
    n = max(1, len(given))
    domain, op_type, outputs = loading.call(
        "popart_cpu_infer",
        ctypes.c_int64(op),
        ctypes.c_int32(len(given)),
        (ctypes.c_int32 * n)(*(each.dtype for each in given)),
        (ctypes.c_int32 * n)(*(len(each.shape) for each in given)),
        (ctypes.c_int64 * max(1, len(dims)))(*dims),
    )
    return Description(domain, op_type, tuple(TensorType(dtype, tuple(shape)) for dtype, shape in outputs))


def gradients(op: int) -> list[Gradient]:
    """Return new gradients of an op that `infer` has been called for; raise LoadError as `infer` does."""
    return [
        Gradient(gradient, {i: (kind, k) for i, kind, k in inputs}, dict(outputs))
        for gradient, inputs, outputs in loading.call("popart_cpu_gradients", ctypes.c_int64(op))
    ]


def register(options: onnxruntime.SessionOptions, ops: Sequence[int]) -> None:
    """Register the nodes of ops that `infer` has been called for with the options of a session.

    Such a node has the op's domain and type; its only attribute, `ATTRIBUTE`, is the op's number. Raise LoadError if
    the op does not exist, or ONNX Runtime does not accept the ops.
    """
    loading.call("popart_cpu_offer_ops", (ctypes.c_int64 * max(1, len(ops)))(*ops), ctypes.c_int32(len(ops)))
    loading.register_offered(options)
