"""Describe and compare the types of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx


def describe(value: onnx.ValueInfoProto) -> str:
    """Return the type and shape of a tensor as text: ``float32 (8, n)``."""
    from onnx import TensorProto

    tensor_type = value.type.tensor_type
    dtype = TensorProto.DataType.Name(tensor_type.elem_type).lower() if tensor_type.elem_type else "of unknown type"
    # ONNX's names of types are NumPy's except for these.
    dtype = {"float": "float32", "double": "float64"}.get(dtype, dtype)
    if not tensor_type.HasField("shape"):
        return f"{dtype}, of unknown shape"
    dims = [str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in tensor_type.shape.dim]
    return f"{dtype} ({', '.join(dims)}{',' * (len(dims) == 1)})"


def agree(one: onnx.TypeProto.Tensor, other: onnx.TypeProto.Tensor) -> bool:
    """Whether a tensor can have both types."""
    if one.elem_type and other.elem_type and one.elem_type != other.elem_type:
        return False
    if not other.HasField("shape"):
        return True
    return fits(one, [dim.dim_value if dim.HasField("dim_value") else None for dim in other.shape.dim])


def fits(tensor_type: onnx.TypeProto.Tensor, shape: Sequence[int | None]) -> bool:
    """Whether a tensor of this type can have this shape; None stands for any dimension."""
    if not tensor_type.HasField("shape"):
        return True
    dims = tensor_type.shape.dim
    return len(dims) == len(shape) and all(
        size is None or size == dim.dim_value for dim, size in zip(dims, shape) if dim.HasField("dim_value")
    )
