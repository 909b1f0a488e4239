"""Use the ops that users' C++ creates, by number: their outputs, their gradients, and their nodes in a session."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
    version: int
    attributes: Mapping[str, Any]
    outputs: tuple[TensorType, ...]


@dataclass(frozen=True)
class Gradient:
    """An op that computes a gradient of another op.

    Attributes
    ----------
    op : int
        The number of the gradient.
    inputs : mapping of int to (str, int)
        Its inputs: ``("GradOut", i)`` is the gradient of output i of the other op, ``("In", i)`` its input i,
        ``("Out", i)`` its output i.
    outputs : mapping of int to int
        The input of the other op that each output is the gradient of.
    """

    op: int
    domain: str
    op_type: str
    version: int
    inputs: Mapping[int, tuple[str, int]]
    outputs: Mapping[int, int]


def infer(op: int, inputs: Sequence[TensorType | None]) -> Description:
    """Set the inputs of an op, None for one that is left out, and return the node with its output types.

    Raises
    ------
    LoadError
        The op does not exist, its C++ fails, or nothing computes it.
    """
    given = [each or TensorType(0, ()) for each in inputs]
    dims = [size for each in given for size in each.shape]
    n = max(1, len(given))
    made = loading.call(
        "popart_cpu_infer",
        ctypes.c_int64(op),
        ctypes.c_int32(len(given)),
        (ctypes.c_int32 * n)(*(each.dtype for each in given)),
        (ctypes.c_int32 * n)(*(len(each.shape) for each in given)),
        (ctypes.c_int64 * max(1, len(dims)))(*dims),
    )
    outputs = tuple(TensorType(dtype, tuple(shape)) for dtype, shape in made["outputs"])
    return Description(made["domain"], made["type"], made["version"], made["attributes"], outputs)


def gradients(op: int) -> list[Gradient]:
    """Return new gradients of an op that `infer` has been called for.

    Raises
    ------
    LoadError
        The op does not exist, or its C++ fails.
    """
    return [
        Gradient(
            each["op"],
            each["domain"],
            each["type"],
            each["version"],
            {i: (kind, k) for i, kind, k in each["inputs"]},
            dict(each["outputs"]),
        )
        for each in loading.call("popart_cpu_gradients", ctypes.c_int64(op))
    ]


def register(options: onnxruntime.SessionOptions, ops: Sequence[int]) -> None:
    """Register the nodes of ops that `infer` has been called for with the options of a session.

    Such a node has the op's domain and type; its only attribute, `ATTRIBUTE`, is the op's number.

    Raises
    ------
    LoadError
        The op does not exist, or ONNX Runtime does not accept the ops.
    """
    loading.call("popart_cpu_offer_ops", (ctypes.c_int64 * max(1, len(ops)))(*ops), ctypes.c_int32(len(ops)))
    loading.register_offered(options)
