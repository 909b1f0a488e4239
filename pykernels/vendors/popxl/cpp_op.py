"""Append C++ ops that users have bound with ``makeParameterizedOpBindings``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykernels.base.errors import CallError
from pykernels.vendors.popart import ops
from pykernels.vendors.popxl.context import get_current_context
from pykernels.vendors.popxl.dtypes import dtype
from pykernels.vendors.popxl.graph import Graph
from pykernels.vendors.popxl.lowering import Lowering, Values
from pykernels.vendors.popxl.nodes import zeros
from pykernels.vendors.popxl.op import Backward, Op
from pykernels.vendors.popxl.tensor import Tensor

if TYPE_CHECKING:
    import onnxruntime


def create(graph: Graph, number: int, inputs: Mapping[int, str], outputs: Mapping[int, str], name: str) -> CppOp:
    """Append an op that C++ code has created, by its number in `pykernels.vendors.popart.ops`, to a graph.

    The `inputs` and `outputs` are the ids of the tensors by position: outputs are created, inputs exist already. Raise
    CallError if an input does not exist or the op has no such output, and LoadError if the C++ code fails.
    """
    tensors = {at: graph.get_tensor(id_) for at, id_ in inputs.items()}
    given = [tensors.get(at) for at in range(max(tensors, default=-1) + 1)]
    return _append(graph, name, number, given, outputs)


def _append(
    graph: Graph, name: str | None, number: int, given: Sequence[Tensor | None], outputs: Mapping[int, str]
) -> CppOp:
    described = ops.infer(number, [t if t is None else ops.TensorType(t.dtype.as_onnx(), t.shape) for t in given])
    name = name or described.op_type
    if set(outputs) - set(range(len(described.outputs))):
        raise CallError(f"{name}: {described.op_type} has {len(described.outputs)} outputs, not {dict(outputs)}")
    made = []
    for at, each in enumerate(described.outputs):
        id_ = outputs.get(at) or graph._create_tensor_id(f"{name}_out")
        made.append(graph._add(Tensor(graph, id_, each.shape, dtype.from_onnx(each.dtype))))
    op = CppOp(name, [t for t in given if t is not None], made, number, given, described)
    graph.add_op(op)
    return op


@dataclass(eq=False, repr=False)
class CppOp(Op):
    """An op that is implemented in C++."""

    #: The op's number in `pykernels.vendors.popart.ops`.
    number: int
    #: The inputs by position, None for those that are left out.
    given: Sequence[Tensor | None]
    description: ops.Description

    def lower(self, lowering: Lowering, values: Values) -> None:
        """Implement `Op.lower`."""
        domain, type_ = self.description.domain, self.description.op_type
        lowering.need(domain, _register, self.number)
        inputs = ["" if t is None else values.names([t])[0] for t in self.given]
        values.set(self.outputs, lowering.node(domain, type_, inputs, self.outputs, {ops.ATTRIBUTE: self.number}))

    def gradient(self, backward: Backward, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """Implement `Op.gradient` with the ops that ``getGradOps`` of the C++ code returns."""
        found: dict[int, Tensor] = {}
        for each in ops.gradients(self.number):
            given = [
                self._input(backward, grads, *each.inputs[at]) if at in each.inputs else None
                for at in range(max(each.inputs, default=-1) + 1)
            ]
            op = _append(get_current_context().graph, None, each.op, given, {})
            for at, of in each.outputs.items():
                found[of] = found[of] + op.outputs[at] if of in found else op.outputs[at]
        if not found:
            raise backward.no_gradient(self)
        return [found.get(at) for at, t in enumerate(self.given) if t is not None]

    def _input(self, backward: Backward, grads: Sequence[Tensor | None], kind: str, at: int) -> Tensor | None:
        """Return an input of a gradient op: a tensor of this op, or the gradient of one of its outputs."""
        if kind == "GradOut":
            grad = grads[at]
            return zeros(self.outputs[at]) if grad is None else grad
        tensor = self.outputs[at] if kind == "Out" else self.given[at]
        return None if tensor is None else backward.activation(tensor)


def _register(options: onnxruntime.SessionOptions, *numbers: int) -> None:
    ops.register(options, numbers)
