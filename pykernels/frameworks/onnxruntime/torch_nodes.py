"""Write the node of an operator when PyTorch's ONNX exporter requests it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pykernels.base.errors import CallError
from pykernels.define.declared import Argument
from pykernels.frameworks.onnxruntime.arguments import group, onnx_value
from pykernels.frameworks.onnxruntime.nodes import NodeName, node_names
from pykernels.frameworks.onnxruntime.torch_twins import is_flat
from pykernels.load.module import OpModule

if TYPE_CHECKING:
    from pykernels.frameworks.torch.layout import Layout


def translation(module: OpModule, layout: Layout) -> Callable[..., Any]:
    """Return an operator's function for ``custom_translation_table``: it maps a call's arguments to its results."""
    op = layout.op
    name = next(name for name, each in node_names(module) if each is op)

    def translate(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(layout.names, args)), **kwargs}
        call = layout.read({key: _theirs(value) for key, value in given.items()})
        if call.is_train:
            raise CallError(
                f"op {op.name!r} is called as part of training, which ONNX Runtime does not do; call model.eval()"
            )
        attributes = {
            attribute.name: onnx_value(attribute.type, call.attributes[attribute.name])
            for attribute in op.attributes
            if attribute.required or call.attributes[attribute.name] != attribute.default
        }
        inputs = [tensor for pair in zip(op.inputs, call.inputs) for tensor in _places(*pair)]
        group(op, op.inputs, inputs, "inputs")  # raises if the node would be ambiguous
        outputs = _add_node(name, inputs, sum(call.counts), attributes)
        return outputs if is_flat(layout) else layout.pack(outputs, call.counts)

    return translate


def _theirs(value: Any) -> Any:
    """Convert an argument from the exporter's form back to PyTorch's."""
    from onnxscript.ir import DataType

    from pykernels.frameworks.torch.layout import torch_dtype

    if isinstance(value, DataType):
        return torch_dtype(value.numpy())
    return [_theirs(each) for each in value] if isinstance(value, (list, tuple)) else value


def _places(argument: Argument, tensors: Sequence[Any]) -> Sequence[Any]:
    """Return the tensors of an argument, with None for an optional one that is left out."""
    return tensors if tensors or argument.variadic else [None] * argument.count


def _add_node(name: NodeName, inputs: Sequence[Any], n_outputs: int, attributes: Mapping[str, Any]) -> Sequence[Any]:
    """Add a node to the model under construction; return its outputs."""
    from onnx import helper
    from onnx.defs import OpSchema
    from onnxscript.values import Op, Opset

    # The exporter reads the numbers of inputs and outputs and the attributes of a node from a schema.
    option = OpSchema.FormalParameterOption.Optional
    values = [OpSchema.FormalParameter(f"x{i}", f"T{i}", param_option=option) for i in range(len(inputs))]
    results = [OpSchema.FormalParameter(f"y{i}", f"U{i}") for i in range(n_outputs)]
    kinds = [helper.make_attribute(key, value).type for key, value in attributes.items()]
    schema = OpSchema(
        name.op_type,
        name.domain,
        1,
        inputs=values,
        outputs=results,
        type_constraints=[(each.type_str, ["tensor(float)"], "") for each in (*values, *results)],
        attributes=[OpSchema.Attribute(key, OpSchema.AttrType(kind), "") for key, kind in zip(attributes, kinds)],
    )
    made = Op(Opset(name.domain, 1), name.op_type, schema)(*inputs, **attributes)
    return made if isinstance(made, Sequence) else [made]
