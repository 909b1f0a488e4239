"""Ops that users' C++ has made, by number: their results, their gradients, and their nodes in a session."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pykernels.base.errors import LoadError
from pykernels.vendors.popart import build, loading

if TYPE_CHECKING:
    import onnxruntime

__all__ = ["ATTRIBUTE", "Description", "Gradient", "TensorType", "gradients", "infer", "register"]

#: The attribute of a node that is such an op: its number.
ATTRIBUTE = "popart_op"


@dataclass(frozen=True)
class TensorType:
    """A tensor: `dtype` is ONNX's number of its type."""

    dtype: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Description:
    """An op as a node has it, and what its outputs are."""

    domain: str
    op_type: str
    version: int
    attributes: Mapping[str, Any]
    outputs: tuple[TensorType, ...]


@dataclass(frozen=True)
class Gradient:
    """An op that is a gradient of another one.

    Attributes
    ----------
    op : int
        Its number.
    inputs : mapping of int to (str, int)
        What its inputs are: ``("GradOut", i)`` the gradient of output i of the other op, ``("In", i)`` its input i,
        ``("Out", i)`` its output i.
    outputs : mapping of int to int
        Of which input of the other op an output is the gradient.
    """

    op: int
    domain: str
    op_type: str
    version: int
    inputs: Mapping[int, tuple[str, int]]
    outputs: Mapping[int, int]


def infer(op: int, inputs: Sequence[TensorType | None]) -> Description:
    """Give an op its inputs, None for one that is left out, and ask for what it makes of them.

    Raises
    ------
    LoadError
        There is no such op, its C++ fails, or nothing computes it.
    """
    given = [each or TensorType(0, ()) for each in inputs]
    dims = [size for each in given for size in each.shape]
    n = max(1, len(given))
    told = loading.call(
        "popart_cpu_infer",
        ctypes.c_int64(op),
        ctypes.c_int32(len(given)),
        (ctypes.c_int32 * n)(*(each.dtype for each in given)),
        (ctypes.c_int32 * n)(*(len(each.shape) for each in given)),
        (ctypes.c_int64 * max(1, len(dims)))(*dims),
    )
    outputs = tuple(TensorType(dtype, tuple(shape)) for dtype, shape in told["outputs"])
    return Description(told["domain"], told["type"], told["version"], told["attributes"], outputs)


def gradients(op: int) -> list[Gradient]:
    """The gradients of an op that `infer` has been called for; new ones with each call.

    Raises
    ------
    LoadError
        There is no such op, or its C++ fails.
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
    """Have sessions with these options know the nodes of ops, which `infer` has been called for.

    Such a node is of the op's domain and type, with the op's number as its attribute `ATTRIBUTE`, the only one.

    Raises
    ------
    LoadError
        There is no such op, or ONNX Runtime does not take them.
    """
    loading.call("popart_cpu_offer_ops", (ctypes.c_int64 * max(1, len(ops)))(*ops), ctypes.c_int32(len(ops)))
    try:
        options.register_custom_ops_library(str(build.build()))
    except Exception as error:
        raise LoadError(f"ONNX Runtime does not take the ops: {error}") from error
