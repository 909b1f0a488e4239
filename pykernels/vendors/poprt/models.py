"""Read and convert models, and change their inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pykernels.base.errors import CallError, LoadError

if TYPE_CHECKING:
    import onnx


def read_model(path: Path) -> onnx.ModelProto:
    """Read a model with all its tensors, and check it with ONNX's checker.

    Raise LoadError if there is no such model, or if it is broken or newer than the installed onnx.
    """
    import onnx

    if not path.is_file():
        raise LoadError(f"{path} does not exist (--input_model)")
    try:
        model = onnx.load(path)
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror or error}") from error
    except Exception as error:  # protobuf's errors, which differ between versions
        raise LoadError(f"{path} is not an ONNX model: {error}") from error
    if model.ir_version > onnx.IR_VERSION:
        raise LoadError(
            f"{path} has IR version {model.ir_version}; the installed onnx {onnx.__version__} knows versions up to "
            f"{onnx.IR_VERSION}. Install a newer onnx, or save the model with an older one"
        )
    try:
        onnx.checker.check_model(model)
    except Exception as error:  # including the ValueError for a model that is too large for one message
        raise LoadError(f"{path} is a broken model: {error}") from error
    return model


def convert_opset(model: onnx.ModelProto, version: int) -> onnx.ModelProto:
    """Convert a model to another version of ONNX's operators; raise CallError if it cannot be converted."""
    from onnx import version_converter

    try:
        return version_converter.convert_version(model, version)
    except Exception as error:
        raise CallError(f"--convert_version {version}: the model cannot be converted: {error}") from error


def to_float16(model: onnx.ModelProto, skipped: Sequence[str] = ()) -> onnx.ModelProto:
    """Convert float32 to float16 in a model, including inputs and outputs, except in nodes of `skipped` op types.

    Raise CallError if the model cannot be converted.
    """
    from onnxruntime.transformers import float16

    try:
        # The converter's own inference does not know the shapes of custom ops.
        return float16.convert_float_to_float16(
            model,
            keep_io_types=False,
            disable_shape_infer=True,
            op_block_list=[*float16.DEFAULT_OP_BLOCK_LIST, *skipped],
        )
    except Exception as error:
        raise CallError(f"--precision fp16: the model cannot be converted: {error}") from error


def inputs_of(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """Return the inputs of a model that have no value in it."""
    constant = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in constant]


def set_input_shapes(model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]]) -> None:
    """Set the shapes of inputs; forget the known shapes that may depend on them.

    Raise CallError if the model has no such input, or one with another number of axes.
    """
    if not shapes:
        return
    inputs = {value.name: value for value in inputs_of(model)}
    for name, shape in shapes.items():
        if name not in inputs:
            raise CallError(f"--input_shape: the model has no input {name!r}; its inputs are {', '.join(inputs)}")
        if not inputs[name].type.HasField("tensor_type"):
            raise CallError(f"--input_shape: input {name} is not a tensor")
        tensor_shape = inputs[name].type.tensor_type.shape
        if len(tensor_shape.dim) != len(shape):
            raise CallError(f"--input_shape: input {name} has {len(tensor_shape.dim)} axes, not {len(shape)}")
        del tensor_shape.dim[:]
        for size in shape:
            tensor_shape.dim.add().dim_value = size
    _forget_shapes(model)


def set_batch_size(model: onnx.ModelProto, size: int, axis: int) -> None:
    """Set the size of all inputs along an axis; raise CallError if an input has no such axis."""
    for value in inputs_of(model):
        dims = value.type.tensor_type.shape.dim
        if not -len(dims) <= axis < len(dims):
            raise CallError(f"--batch_axis {axis}: input {value.name} has {len(dims)} axes")
        dims[axis].Clear()
        dims[axis].dim_value = size
    _forget_shapes(model)


def _forget_shapes(model: onnx.ModelProto) -> None:
    """Remove the sizes of all tensors except inputs from a model."""
    for value in (*model.graph.value_info, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()


def add_outputs(model: onnx.ModelProto, names: Sequence[str]) -> None:
    """Make tensors outputs of a model; raise CallError for one that it does not compute, or of unknown type."""
    computed = {name for node in model.graph.node for name in node.output if name}
    values = {value.name: value for value in model.graph.value_info}
    known = {value.name for value in model.graph.output}
    for name in names:
        if name not in computed:
            raise CallError(f"--checkpoints: the model computes no tensor {name!r}")
        if name not in known and name not in values:
            raise CallError(f"--checkpoints: the type of {name} is not known; --custom_shape_inference can infer it")
        if name not in known:
            model.graph.output.append(values[name])


def remove_outputs(model: onnx.ModelProto, names: Sequence[str]) -> None:
    """Remove outputs from a model, along with the nodes that only they need.

    Raise CallError if the model has no such output, or no other one.
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
    """Yield the tensors that a node and its subgraphs read."""
    yield from node.input
    for attribute in node.attribute:
        for inner in (attribute.g, *attribute.graphs):
            yield from (value.name for value in inner.output)
            for each in inner.node:
                yield from _read(each)
