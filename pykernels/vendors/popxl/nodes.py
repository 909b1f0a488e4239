"""Append ONNX nodes to the current graph, with the shapes and dtypes that ONNX infers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.dtypes import check_dtype, dtype
from pykernels.vendors.popxl.graph import Graph
from pykernels.vendors.popxl.lowering import OPSET
from pykernels.vendors.popxl.op import Assign, Node
from pykernels.vendors.popxl.tensor import Constant, Tensor, constant

if TYPE_CHECKING:
    import onnx


def node(type_: str, *inputs: Tensor, name: str | None = None, **attributes: Any) -> Tensor:
    """Append a node with one output, whose name by default is derived from the op that the user called.

    The inputs are tensors of the current graph; they must be constants if ONNX needs their values to infer shapes. The
    attributes are those of ``onnx.helper.make_node``. Raise RuntimeError if no graph has been chosen, TypeError if an
    input is not a tensor, and CallError if an input belongs to another graph or ONNX rejects the inputs.
    """
    (made,) = nodes(type_, inputs, 1, name=name, **attributes)
    return made


def nodes(
    type_: str,
    inputs: Sequence[Tensor],
    count: int,
    *,
    name: str | None = None,
    kind: type[Node] = Node,
    **attributes: Any,
) -> list[Tensor]:
    """Append a node of any subclass of `Node`, with any number of outputs; otherwise as `node`."""
    context = get_current_context()
    graph: Graph = context.graph
    graph.check_holds(**{f"input {at}": each for at, each in enumerate(inputs)})
    types = _infer(context.op_name, type_, inputs, count, attributes)
    outputs = [graph.new_tensor(name or f"{context.op_name}_out", *each) for each in types]
    graph.append(kind(context._get_op_settings(context.op_name), list(inputs), outputs, type_, attributes))
    return outputs


def assign(target: Tensor, value: Tensor) -> Tensor:
    """Append an op that overwrites `target` with `value`, and return an alias of the target.

    Raise CallError if their shapes or dtypes differ, or if the target is a constant.
    """
    context = get_current_context()
    graph: Graph = context.graph
    graph.check_holds(target=target, value=value)
    if (target.shape, target.dtype) != (value.shape, value.dtype):
        raise CallError(
            f"{context.op_name}: {target!r} cannot be updated by {value.dtype} {value.shape}; shape and dtype must be "
            "the same"
        )
    if isinstance(target._memory, Constant):
        raise CallError(f"{context.op_name}: {target!r} is a constant, which cannot be changed")
    output = graph.new_tensor(f"{context.op_name}_{target.name}", target.shape, target.dtype, alias_of=target)
    graph.append(Assign(context._get_op_settings(context.op_name), [target, value], [output]))
    return output


def integers(*values: int) -> Tensor:
    """Return an int64 constant, for axes and shapes."""
    return constant(np.array(values, np.int64), downcast=False)


def zeros(tensor: Tensor) -> Tensor:
    """Return a constant of zeros with the shape and dtype of a tensor."""
    return constant(np.zeros(tensor.shape, tensor.dtype.as_numpy()), tensor.dtype)


@op_debug_context
def cast(t: Tensor, data_type: dtype) -> Tensor:
    """Convert a tensor to another dtype."""
    check_dtype("cast", data_type)
    return node("Cast", t, to=data_type.as_onnx())


def _infer(
    op: str, type_: str, inputs: Sequence[Tensor], count: int, attributes: dict[str, Any]
) -> list[tuple[tuple[int, ...], dtype]]:
    import onnx.shape_inference
    from onnx import helper, numpy_helper

    ins, outs = [f"i{at}" for at in range(len(inputs))], [f"o{at}" for at in range(count)]
    graph = helper.make_graph(
        [helper.make_node(type_, ins, outs, **attributes)],
        "graph",
        [helper.make_tensor_value_info(name, t.dtype.as_onnx(), t.shape) for name, t in zip(ins, inputs)],
        [onnx.ValueInfoProto(name=name) for name in outs],
        [numpy_helper.from_array(each._data, name) for name, each in zip(ins, inputs) if isinstance(each, Constant)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    try:
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError as error:
        given = ", ".join(f"{each.dtype} {each.shape}" for each in inputs)
        reason = str(error).rpartition("] ")[2].strip()
        raise CallError(f"{op}: ONNX's {type_} does not accept {given}: {reason}") from None
    return [_type(op, value) for value in inferred.graph.output]


def _type(op: str, value: onnx.ValueInfoProto) -> tuple[tuple[int, ...], dtype]:
    found = value.type.tensor_type
    if not found.HasField("shape") or not all(dim.HasField("dim_value") for dim in found.shape.dim):
        raise CallError(f"{op}: the shape of the result depends on the values of tensors")
    shape = tuple(int(dim.dim_value) for dim in found.shape.dim)
    return shape, dtype.from_onnx(found.elem_type)
