"""Nodes of ONNX in the chosen graph, with the shapes and dtypes that ONNX infers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.context import get_current_context
from pykernels.vendors.popxl.dtypes import dtype
from pykernels.vendors.popxl.op import Assign, Node
from pykernels.vendors.popxl.tensor import Constant, Tensor, constant

if TYPE_CHECKING:
    import onnx

__all__ = ["OPSET", "assign", "integers", "node", "nodes"]

#: The version of ONNX's operators: ONNX Runtime 1.17 has it, and all reductions take their axes as an input.
OPSET = 18


def node(type_: str, *inputs: Tensor, name: str | None = None, **attributes: Any) -> Tensor:
    """Append a node with one output.

    Parameters
    ----------
    type_ : str
        The ONNX op.
    *inputs : Tensor
        Of the chosen graph; constants where ONNX has to know values to infer shapes.
    name : str, optional
        Of the output; that of the op that the user called without it.
    **attributes
        As ``onnx.helper.make_node`` takes them.

    Raises
    ------
    RuntimeError, TypeError, CallError
        No graph has been chosen; an input is no tensor, or of another graph; ONNX refuses the inputs.
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
    """As `node`, with any number of outputs, and of any class of nodes."""
    context = get_current_context()
    graph = context.graph
    graph.check_holds(**{f"input {at}": each for at, each in enumerate(inputs)})
    settings = context._get_op_settings(context.op_name)
    types = _infer(context.op_name, type_, inputs, count, attributes)
    outputs = [graph.new_tensor(name or f"{context.op_name}_out", *each) for each in types]
    op = kind(settings.name, list(inputs), outputs, type_, attributes)
    graph.add_op(op)
    context._op_created(op)
    return outputs


def assign(target: Tensor, value: Tensor) -> Tensor:
    """Append an op that writes `value` over `target`; returns another name for the target.

    Raises
    ------
    CallError
        Shape or dtype differ, or the target is a constant.
    """
    context = get_current_context()
    graph = context.graph
    graph.check_holds(target=target, value=value)
    if (target.shape, target.dtype) != (value.shape, value.dtype):
        raise CallError(
            f"{context.op_name}: {target!r} cannot be updated by {value.dtype} {value.shape}: both must be alike"
        )
    if isinstance(target._memory, Constant):
        raise CallError(f"{context.op_name}: {target!r} is a constant, which cannot be changed")
    settings = context._get_op_settings(context.op_name)
    name = f"{context.op_name}_{target.name}"
    output = graph.new_tensor(name, target.shape, target.dtype, alias_of=target)
    op = Assign(settings.name, [target, value], [output])
    graph.add_op(op)
    context._op_created(op)
    return output


def integers(*values: int) -> Tensor:
    """A constant for axes, shapes and their like."""
    return constant(np.array(values, np.int64), downcast=False)


def _infer(
    op: str, type_: str, inputs: Sequence[Tensor], count: int, attributes: dict[str, Any]
) -> list[tuple[tuple[int, ...], dtype]]:
    import onnx.shape_inference
    from onnx import helper, numpy_helper

    ins, outs = [f"i{at}" for at in range(len(inputs))], [f"o{at}" for at in range(count)]
    graph = helper.make_graph(
        [helper.make_node(type_, ins, outs, **attributes)],
        "graph",
        [_value(name, each) for name, each in zip(ins, inputs)],
        [onnx.ValueInfoProto(name=name) for name in outs],
        [numpy_helper.from_array(each._data, name) for name, each in zip(ins, inputs) if isinstance(each, Constant)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    try:
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError as error:
        given = ", ".join(f"{each.dtype} {each.shape}" for each in inputs)
        reason = str(error).rpartition("] ")[2].strip()
        raise CallError(f"{op}: {type_} of ONNX cannot be computed of {given}: {reason}") from None
    return [_type(op, value) for value in inferred.graph.output]


def _value(name: str, tensor: Tensor) -> onnx.ValueInfoProto:
    from onnx import helper

    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(tensor.dtype.as_numpy()), tensor.shape)


def _type(op: str, value: onnx.ValueInfoProto) -> tuple[tuple[int, ...], dtype]:
    from onnx import helper

    found = value.type.tensor_type
    if not found.HasField("shape") or not all(dim.HasField("dim_value") for dim in found.shape.dim):
        raise CallError(f"{op}: the shape of what it computes depends on the values of tensors")
    shape = tuple(int(dim.dim_value) for dim in found.shape.dim)
    return shape, dtype.as_dtype(helper.tensor_dtype_to_np_dtype(found.elem_type))
