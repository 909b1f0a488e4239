"""PopXL's graphs as a framework: ops called on tensors of `pykernels.vendors.popxl` become nodes of ONNX Runtime."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pykernels.base.errors import CallError
from pykernels.define.declared import Argument
from pykernels.define.definition import OpDef
from pykernels.define.instance import TensorSpec
from pykernels.frameworks.onnxruntime.arguments import onnx_value
from pykernels.frameworks.onnxruntime.nodes import node_names
from pykernels.frameworks.onnxruntime.sessions import register
from pykernels.load.module import OpModule
from pykernels.vendors.popxl.context import get_current_context
from pykernels.vendors.popxl.dtypes import dtype
from pykernels.vendors.popxl.gradients import zeros
from pykernels.vendors.popxl.op import Op
from pykernels.vendors.popxl.tensor import Tensor

if TYPE_CHECKING:
    from pykernels.vendors.popxl.gradients import Backward
    from pykernels.vendors.popxl.lowering import Lowering, Values

__all__ = ["add", "call", "owns", "remove"]


def add(module: OpModule) -> None:
    """Nothing to do: a session registers the ops that its graphs use."""


def remove(module: OpModule) -> None:
    """Nothing to do, as with `add`."""


def owns(value: Any) -> bool:
    """Whether `value` is a tensor of a graph."""
    return isinstance(value, Tensor)


def call(
    module: OpModule,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> list[Tensor]:
    """Append an op to the chosen graph; parameters and result are those of `Framework.call`.

    Raises
    ------
    RuntimeError
        No graph has been chosen.
    CallError
        The definition refuses the inputs, the op changes one in place, or one is of another graph.
    """
    op = module.definition.ops[op_type]
    context = get_current_context()
    graph = context.graph
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
        context._get_op_settings(op_type).name, _flat(inputs), _flat(outputs), module, op, inputs, outputs, attributes
    )
    graph.add_op(made)
    context._op_created(made)
    return made.outputs


@dataclass(eq=False, repr=False)
class FolderOp(Op):
    """An op of a folder.

    Attributes
    ----------
    module : OpModule
    op : OpDef
    given, made : sequence of sequence of Tensor
        The tensors of every input and output argument.
    attributes : mapping
        Every attribute.
    """

    module: OpModule
    op: OpDef
    given: Sequence[Sequence[Tensor]]
    made: Sequence[Sequence[Tensor]]
    attributes: Mapping[str, Any]

    def lower(self, lowering: Lowering, values: Values) -> None:
        """As `Op.lower`."""
        name = next(name for name, op in node_names(self.module) if op is self.op)
        inputs: list[str] = []
        for argument, group in zip(self.op.inputs, self.given):
            inputs += values.names(group) or [""] * argument.count  # one that is left out keeps its place
        types = {attribute.name: attribute.type for attribute in self.op.attributes}
        attributes = {each: onnx_value(types[each], value) for each, value in self.attributes.items()}
        lowering.need(name.domain, register, self.module.name)
        values.set(self.outputs, lowering.node(*name, inputs, self.outputs, attributes))

    def gradient(self, backward: Backward, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """As `Op.gradient`: the ops that the definition's gradient names."""
        if self.op.gradient is None:
            raise backward.no_gradient(self)
        plan = self.op.plan_gradient(_specs(self.given), self.attributes, outputs=_specs(self.made))
        blobs = _Blobs(backward)
        blobs.forward.update(_named("I", self.op.inputs, self.given))
        blobs.forward.update(_named("O", self.op.outputs, self.made))
        grad_of = dict(zip(self.outputs, grads))
        for name, t in _named("D", self.op.outputs, self.made):
            grad = grad_of[t]
            blobs[name] = zeros(t) if grad is None else grad
        for step in plan.ops:
            if step.type not in self.module.definition.ops:
                raise CallError(
                    f"autodiff: the gradient of {self.op.name} needs an op {step.type}, which is not its own"
                )
            op = self.module.definition.ops[step.type]
            wanted = dict(step.outputs)
            counts = [wanted.get(a.name, 0 if a.optional else a.count) for a in op.outputs]
            inputs = [[blobs[blob] for name, blob in step.inputs if name == a.name] for a in op.inputs]
            made = iter(call(self.module, step.type, inputs, op.parse_attributes(step.attributes), counts))
            for argument, count in zip(op.outputs, counts):
                for at, result in enumerate(itertools.islice(made, count)):
                    blobs[f"{step.name}/{argument.name}_{at}"] = result
        return [
            blobs[plan.bindings[argument.name, at]] if (argument.name, at) in plan.bindings else None
            for argument, group in zip(self.op.inputs, self.given)
            for at in range(len(group))
        ]


class _Blobs(dict[str, Tensor]):
    """The tensors of a gradient graph by the names that `GradientPlan` has for them."""

    def __init__(self, backward: Backward) -> None:
        super().__init__()
        self._backward = backward
        #: Those of the forward graph.
        self.forward: dict[str, Tensor] = {}

    def __missing__(self, name: str) -> Tensor:
        self[name] = self._backward.activation(self.forward[name])
        return self[name]


def _named(
    kind: str, arguments: Sequence[Argument], groups: Sequence[Sequence[Tensor]]
) -> Iterator[tuple[str, Tensor]]:
    for argument, group in zip(arguments, groups):
        for at, tensor in enumerate(group):
            yield f"{kind}/{argument.name}/{at}", tensor


def _specs(groups: Sequence[Sequence[Tensor]]) -> list[list[TensorSpec]]:
    return [[TensorSpec(t.shape, t.dtype.as_numpy()) for t in group] for group in groups]


def _flat(groups: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    return [tensor for group in groups for tensor in group]
