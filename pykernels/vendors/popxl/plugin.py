"""Add PopXL as a framework: ops called on tensors of `pykernels.vendors.popxl` become nodes of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pykernels.base.errors import CallError
from pykernels.define.definition import OpDef
from pykernels.define.gradient_plan import blobs
from pykernels.define.instance import TensorSpec
from pykernels.frameworks.onnxruntime.arguments import onnx_value
from pykernels.frameworks.onnxruntime.nodes import node_names
from pykernels.frameworks.onnxruntime.sessions import register
from pykernels.load.module import OpModule
from pykernels.vendors.popxl.context import get_current_context
from pykernels.vendors.popxl.dtypes import dtype
from pykernels.vendors.popxl.graph import Graph
from pykernels.vendors.popxl.lowering import Lowering, Values
from pykernels.vendors.popxl.nodes import zeros
from pykernels.vendors.popxl.op import Backward, Op
from pykernels.vendors.popxl.tensor import Tensor


def add(module: OpModule) -> None:
    """Do nothing: a session registers the ops that its graphs use."""


def remove(module: OpModule) -> None:
    """Do nothing, as in `add`."""


def owns(value: Any) -> bool:
    """Return whether `value` is a tensor of a graph."""
    return isinstance(value, Tensor)


def call(
    module: OpModule,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> list[Tensor]:
    """Append an op to the current graph; parameters and result are those of `Framework.call`.

    Raise RuntimeError if no graph has been chosen, and CallError if the definition rejects the inputs, the op changes
    an input in place, or an input belongs to another graph.
    """
    op = module.definition.ops[op_type]
    context = get_current_context()
    graph: Graph = context.graph
    for argument, group in zip(op.inputs, inputs):
        graph.check_holds(**{f"{op_type}: {argument.name}[{at}]": tensor for at, tensor in enumerate(group)})
        if argument.mutable:
            raise CallError(f"op {op_type}: it changes its input '{argument.name}' in place, which graphs do not allow")
    inferred = op.infer(_specs(inputs), attributes, counts=counts)
    outputs = [
        [graph.new_tensor(f"{module.name}_{argument.name}", spec.shape, dtype.as_dtype(spec.dtype)) for spec in group]
        for argument, group in zip(op.outputs, inferred)
    ]
    made = FolderOp(
        context._get_op_settings(op_type), _flat(inputs), _flat(outputs), module, op, inputs, outputs, attributes
    )
    graph.append(made)
    return made.outputs


@dataclass(eq=False, repr=False)
class FolderOp(Op):
    """An op that an op folder defines."""

    module: OpModule
    op: OpDef
    #: The tensors of each input argument, and of each output argument.
    given: Sequence[Sequence[Tensor]]
    made: Sequence[Sequence[Tensor]]
    #: The values of all attributes.
    attributes: Mapping[str, Any]

    def lower(self, lowering: Lowering, values: Values) -> None:
        """Implement `Op.lower`."""
        name = next(name for name, op in node_names(self.module) if op is self.op)
        inputs: list[str] = []
        for argument, group in zip(self.op.inputs, self.given):
            inputs += values.names(group) or [""] * argument.count  # an omitted input keeps its position
        types = {attribute.name: attribute.type for attribute in self.op.attributes}
        attributes = {each: onnx_value(types[each], value) for each, value in self.attributes.items()}
        lowering.need(name.domain, register, self.module.name)
        values.set(self.outputs, lowering.node(*name, inputs, self.outputs, attributes))

    def gradient(self, backward: Backward, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """Implement `Op.gradient` with the ops that the definition's gradient names."""
        if self.op.gradient is None:
            raise backward.no_gradient(self)
        plan = self.op.plan_gradient(_specs(self.given), self.attributes, outputs=_specs(self.made))
        outputs = self.op.outputs
        activations = blobs("I", self.op.inputs, self.given) | blobs("O", outputs, self.made)
        grad_of = {t: zeros(t) if grad is None else grad for t, grad in zip(self.outputs, grads)}
        given = blobs("D", outputs, [[grad_of[t] for t in group] for group in self.made])

        def forward(blob: str) -> Tensor:
            return given[blob] if blob in given else backward.activation(activations[blob])

        def find(op_type: str) -> OpDef:
            if op_type not in self.module.definition.ops:
                raise CallError(
                    f"autodiff: the gradient of {self.op.name} needs the op {op_type}, which its folder does not define"
                )
            return self.module.definition.ops[op_type]

        bound = plan.run(forward, find, lambda op, *operands: call(self.module, op.name, *operands))
        return [
            bound.get((argument.name, at))
            for argument, group in zip(self.op.inputs, self.given)
            for at in range(len(group))
        ]


def _specs(groups: Sequence[Sequence[Tensor]]) -> list[list[TensorSpec]]:
    return [[TensorSpec(t.shape, t.dtype.as_numpy()) for t in group] for group in groups]


def _flat(groups: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    return [tensor for group in groups for tensor in group]
