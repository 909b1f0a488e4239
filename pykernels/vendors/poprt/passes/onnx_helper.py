"""Look up the types and shapes of a graph's tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import onnx


def get_dtype(graph: onnx.GraphProto, name: str) -> int | None:
    """Return the type of a tensor, a number of ``onnx.TensorProto.DataType``; None if it is not known."""
    value = find_value_info(graph, name)
    if value is not None:
        return value.type.tensor_type.elem_type or None
    return next((tensor.data_type for tensor in graph.initializer if tensor.name == name), None)


def get_shape(graph: onnx.GraphProto, name: str) -> list[int] | None:
    """Return the shape of a tensor, with 0 for unknown dimensions; None if the number of axes is unknown."""
    value = find_value_info(graph, name)
    if value is None:
        return next((list(tensor.dims) for tensor in graph.initializer if tensor.name == name), None)
    tensor_type = value.type.tensor_type
    return [dim.dim_value for dim in tensor_type.shape.dim] if tensor_type.HasField("shape") else None


def find_value_info(graph: onnx.GraphProto, name: str) -> Any:
    """Return the entry of a tensor among a graph's inputs, outputs and other tensors; None if it has none."""
    return next((v for v in (*graph.value_info, *graph.input, *graph.output) if v.name == name), None)
