"""Infer types and shapes in a model, including those of our nodes, which ``onnx.shape_inference`` skips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pykernels.base import dtypes
from pykernels.base.errors import PykernelsError
from pykernels.call.uses import Use
from pykernels.define.definition import OpDef
from pykernels.define.instance import TensorSpec
from pykernels.frameworks.onnxruntime.arguments import group, node_attributes
from pykernels.frameworks.onnxruntime.node_dtypes import output_dtypes
from pykernels.frameworks.onnxruntime.nodes import NodeName, find_node
from pykernels.load.module import OpModule

if TYPE_CHECKING:
    import onnx

# The unit of the numbers that replace unknown dimensions, in two trials: it is divisible by many numbers.
_UNIT = 720720


class _Type(NamedTuple):
    """What is known of a tensor; a dimension is a number, a name, or None."""

    dtype: np.dtype
    shape: tuple[int | str | None, ...] | None


def infer_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Infer shapes like ``onnx.shape_inference.infer_shapes``, for models with nodes of loaded ops.

    The definitions infer the shapes. They are tried with two sets of numbers for unknown dimensions: an output
    dimension that does not depend on these is known, and one that always equals a named dimension gets its name.

    Parameters
    ----------
    model : onnx.ModelProto
        The model; it is not changed.

    Returns
    -------
    onnx.ModelProto
        A copy with the types of all tensors that could be inferred.

    Raises
    ------
    CallError, DefinitionError
        One of our ops is not loaded, is used wrongly, or refuses its inputs, all of which are known.
    """
    import onnx.shape_inference

    inferred = onnx.shape_inference.infer_shapes(model)
    while _add_ours(inferred.graph, {}):
        # Infer the nodes that follow ours.
        inferred = onnx.shape_inference.infer_shapes(inferred)
    return inferred


def _add_ours(graph: onnx.GraphProto, outer: Mapping[str, _Type]) -> bool:
    """Add the inferred types of our nodes to a graph and its subgraphs; return whether any type was new."""
    types = {**outer, **_known(graph)}
    added = False
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                added = _add_ours(inner, types) or added
        found = find_node(node)
        if found is None or all(name in types for name in node.output if name):
            continue
        for name, type_ in _infer(node, *found, types).items():
            if name not in types:
                types[name] = type_
                graph.value_info.append(_value_info(name, type_))
                added = True
    return added


def _known(graph: onnx.GraphProto) -> dict[str, _Type]:
    from onnx import helper

    types = {}
    for tensor in graph.initializer:
        types[tensor.name] = _Type(helper.tensor_dtype_to_np_dtype(tensor.data_type), tuple(tensor.dims))
    for value in (*graph.input, *graph.value_info):
        tensor_type = value.type.tensor_type
        if not tensor_type.elem_type:
            continue
        shape = None
        if tensor_type.HasField("shape"):
            shape = tuple(_dimension(dim) for dim in tensor_type.shape.dim)
        types[value.name] = _Type(helper.tensor_dtype_to_np_dtype(tensor_type.elem_type), shape)
    return types


def _dimension(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    return int(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or None


def _value_info(name: str, type_: _Type) -> onnx.ValueInfoProto:
    from onnx import helper

    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(type_.dtype), type_.shape)


def _infer(node: onnx.NodeProto, module: OpModule, op: OpDef, types: Mapping[str, _Type]) -> dict[str, _Type]:
    """Return the types of a node's outputs, as far as they can be inferred."""
    if any(name and name not in types for name in node.input):
        return {}
    where = f"node {node.name!r} ({NodeName(node.domain, node.op_type)})"
    try:
        inputs = group(op, op.inputs, [types[name] if name else None for name in node.input], "inputs")
        names = group(op, op.outputs, list(node.output), "outputs")
        attributes = node_attributes(op, node)
        use = Use(op, (), attributes, [len(each) for each in names])
        results = _try(use, inputs)
    except PykernelsError as error:
        raise type(error)(f"{where}: {error}") from None
    if results is None:
        results = _dtypes_alone(module, op, inputs, names)
    return {name: type_ for group_, found in zip(names, results) for name, type_ in zip(group_, found) if name}


def _try(use: Use, inputs: Sequence[Sequence[_Type]]) -> list[list[_Type]] | None:
    """Return the types that hold for all values of unknown dimensions; None if they cannot be inferred."""
    if any(type_.shape is None for group_ in inputs for type_ in group_):
        return None
    unknown: list[object] = []
    for type_ in (type_ for group_ in inputs for type_ in group_):
        unknown += [dim or object() for dim in type_.shape or () if not isinstance(dim, int) and dim not in unknown]
    if not unknown:
        return [[_Type(*_known_spec(spec)) for spec in group_] for group_ in _infer_with(use, inputs, {}, 1)]
    names = [name for name in unknown if isinstance(name, str)]
    numbers = [{name: _UNIT * (3 + 2 * at + odd) for at, name in enumerate(names)} for odd in (0, 1)]
    try:
        first, second = (_infer_with(use, inputs, numbers[odd], _UNIT * (1 + odd)) for odd in (0, 1))
    except PykernelsError:
        # The definition may refuse only these numbers.
        return None
    named = {(numbers[0][name], numbers[1][name]): name for name in names}

    def common(a: TensorSpec, b: TensorSpec) -> _Type:
        (dtype, first_shape), (_, second_shape) = _known_spec(a), _known_spec(b)
        return _Type(dtype, _common(first_shape, second_shape, named))

    return [[common(a, b) for a, b in zip(*groups)] for groups in zip(first, second)]


def _known_spec(spec: TensorSpec) -> tuple[np.dtype, tuple[int, ...]]:
    assert spec.dtype is not None and spec.shape is not None, "inference from known types gives known types"
    return spec.dtype, spec.shape


def _infer_with(
    use: Use, inputs: Sequence[Sequence[_Type]], numbers: Mapping[str, int], otherwise: int
) -> list[list[TensorSpec]]:
    specs = [
        [
            TensorSpec(
                tuple(d if isinstance(d, int) else numbers[d] if d else otherwise for d in type_.shape or ()),
                type_.dtype,
            )
            for type_ in group_
        ]
        for group_ in inputs
    ]
    return use.op.infer(specs, use.attributes, counts=use.counts)


def _common(
    first: tuple[int, ...], second: tuple[int, ...], named: Mapping[tuple[int, int], str]
) -> tuple[int | str | None, ...] | None:
    if len(first) != len(second):
        return None
    return tuple(a if a == b else named.get((a, b)) for a, b in zip(first, second))


def _dtypes_alone(
    module: OpModule, op: OpDef, inputs: Sequence[Sequence[_Type]], names: Sequence[Sequence[str]]
) -> list[list[_Type]]:
    given = [dtypes.number_of(group_[0].dtype) if group_ else 0 for group_ in inputs]
    found = output_dtypes(module, op, given)
    return [[_Type(dtypes.from_number(number), None)] * len(group_) for number, group_ in zip(found, names)]
