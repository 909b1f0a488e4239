"""Interfaces of models: the shapes of inputs, and which tensors are outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pykernels.base.errors import CallError

if TYPE_CHECKING:
    import onnx

__all__ = ["add_outputs", "remove_outputs", "set_batch_size", "set_input_shapes"]


def set_input_shapes(model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]]) -> None:
    """Give inputs these shapes; what was known of shapes that may follow from them is forgotten.

    Raises
    ------
    CallError
        The model has no such input, or one with another number of axes.
    """
    if not shapes:
        return
    constant = {tensor.name for tensor in model.graph.initializer}
    inputs = {value.name: value for value in model.graph.input if value.name not in constant}
    for name, shape in shapes.items():
        if name not in inputs:
            raise CallError(f"--input_shape: the model has no input {name!r}; its inputs are {', '.join(inputs)}")
        if not inputs[name].type.HasField("tensor_type"):
            raise CallError(f"--input_shape: input {name} is no tensor")
        tensor_shape = inputs[name].type.tensor_type.shape
        if len(tensor_shape.dim) != len(shape):
            raise CallError(f"--input_shape: input {name} has {len(tensor_shape.dim)} axes, not {len(shape)}")
        del tensor_shape.dim[:]
        for size in shape:
            tensor_shape.dim.add().dim_value = size
    _forget_shapes(model)


def set_batch_size(model: onnx.ModelProto, size: int, axis: int) -> None:
    """Give all inputs this size along an axis.

    Raises
    ------
    CallError
        One has no such axis.
    """
    constant = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name in constant:
            continue
        dims = value.type.tensor_type.shape.dim
        if not -len(dims) <= axis < len(dims):
            raise CallError(f"--batch_axis {axis}: input {value.name} has {len(dims)} axes")
        dims[axis].Clear()
        dims[axis].dim_value = size
    _forget_shapes(model)


def _forget_shapes(model: onnx.ModelProto) -> None:
    """Take out what a model says of the sizes of other tensors than inputs."""
    for value in (*model.graph.value_info, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()


def add_outputs(model: onnx.ModelProto, names: Sequence[str]) -> None:
    """Make these tensors outputs.

    Raises
    ------
    CallError
        The model does not compute one of them, or its type is not known.
    """
    computed = {name for node in model.graph.node for name in node.output if name}
    values = {value.name: value for value in model.graph.value_info}
    known = {value.name for value in model.graph.output}
    for name in names:
        if name not in computed:
            raise CallError(f"--checkpoints: the model computes no tensor {name!r}")
        if name not in known and name not in values:
            raise CallError(f"--checkpoints: the type of {name} is not known; --custom_shape_inference can tell it")
        if name not in known:
            model.graph.output.append(values[name])


def remove_outputs(model: onnx.ModelProto, names: Sequence[str]) -> None:
    """Take outputs out of a model, with what is computed for them alone.

    Raises
    ------
    CallError
        The model has no such output, or no other.
    """
    graph = model.graph
    outputs = [value.name for value in graph.output]
    for name in names:
        if name not in outputs:
            raise CallError(f"--remove_outputs: the model has no output {name!r}; its outputs are {', '.join(outputs)}")
    kept = [value for value in graph.output if value.name not in names]
    if not kept:
        raise CallError("--remove_outputs: no output would be left")
    needed = {value.name for value in kept}
    nodes = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            nodes.append(node)
            needed.update(_read(node))
    for field, values in ((graph.output, kept), (graph.node, nodes[::-1])):
        values = [type(value).FromString(value.SerializeToString()) for value in values]
        del field[:]
        field.extend(values)


def _read(node: onnx.NodeProto) -> Iterator[str]:
    """The tensors that a node and the graphs inside it read."""
    yield from node.input
    for attribute in node.attribute:
        for inner in (attribute.g, *attribute.graphs):
            yield from (value.name for value in inner.output)
            for each in inner.node:
                yield from _read(each)
