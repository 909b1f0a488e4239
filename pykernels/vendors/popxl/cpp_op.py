"""Ops in C++, which users have made with ``makeParameterizedOpBindings``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykernels.base.errors import CallError
from pykernels.vendors.popart import ops
from pykernels.vendors.popxl.dtypes import dtype
from pykernels.vendors.popxl.gradients import zeros
from pykernels.vendors.popxl.op import Op
from pykernels.vendors.popxl.tensor import Tensor

if TYPE_CHECKING:
    import onnxruntime

    from pykernels.vendors.popxl.context import Settings
    from pykernels.vendors.popxl.gradients import Backward
    from pykernels.vendors.popxl.graph import Graph
    from pykernels.vendors.popxl.lowering import Lowering, Values

__all__ = ["CppOp", "create"]


def create(
    graph: Graph, number: int, inputs: Mapping[int, str], outputs: Mapping[int, str], settings: Settings
) -> CppOp:
    """Append an op that C++ has made to a graph.

    Parameters
    ----------
    graph : Graph
    number : int
        Of the op, for `pykernels.vendors.popart.ops`.
    inputs, outputs : mapping
        The ids of tensors by their positions; outputs are new.
    settings : Settings

    Raises
    ------
    CallError
        There is no such input, or the op has no such output.
    LoadError
        The C++ code fails.
    """
    tensors = {at: graph.get_tensor(id_) for at, id_ in inputs.items()}
    given = [tensors.get(at) for at in range(max(tensors, default=-1) + 1)]
    return _append(graph, settings.name, number, given, outputs)


def _append(graph: Graph, name: str, number: int, given: Sequence[Tensor | None], outputs: Mapping[int, str]) -> CppOp:
    described = ops.infer(number, [_type(t) for t in given])
    if set(outputs) - set(range(len(described.outputs))):
        raise CallError(f"{name}: {described.op_type} has {len(described.outputs)} outputs, not {dict(outputs)}")
    made = []
    for at, each in enumerate(described.outputs):
        id_ = outputs.get(at) or graph._create_tensor_id(f"{name}_out")
        made.append(graph._add(Tensor(graph, id_, each.shape, _dtype(each.dtype))))
    op = CppOp(name, [t for t in given if t is not None], made, number, given, described)
    graph.add_op(op)
    return op


@dataclass(eq=False, repr=False)
class CppOp(Op):
    """An op in C++.

    Attributes
    ----------
    number : int
        For `pykernels.vendors.popart.ops`.
    given : sequence of Tensor or None
        The inputs, None for those that are left out.
    description : pykernels.vendors.popart.ops.Description
    """

    number: int
    given: Sequence[Tensor | None]
    description: ops.Description

    def lower(self, lowering: Lowering, values: Values) -> None:
        """As `Op.lower`."""
        domain, type_ = self.description.domain, self.description.op_type
        lowering.need(domain, _register, self.number)
        inputs = ["" if t is None else values.names([t])[0] for t in self.given]
        values.set(self.outputs, lowering.node(domain, type_, inputs, self.outputs, {ops.ATTRIBUTE: self.number}))

    def gradient(self, backward: Backward, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """As `Op.gradient`: the ops that the C++ code's ``getGradOps`` gives."""
        found: dict[int, Tensor] = {}
        for each in ops.gradients(self.number):
            given = [
                self._input(backward, grads, *each.inputs[at]) if at in each.inputs else None
                for at in range(max(each.inputs, default=-1) + 1)
            ]
            op = _append(backward.graph, each.op_type, each.op, given, {})
            for at, of in each.outputs.items():
                found[of] = found[of] + op.outputs[at] if of in found else op.outputs[at]
        if not found:
            raise backward.no_gradient(self)
        return [found.get(at) for at, t in enumerate(self.given) if t is not None]

    def _input(self, backward: Backward, grads: Sequence[Tensor | None], kind: str, at: int) -> Tensor | None:
        """What an op of the gradient takes: a tensor of this op, or the gradient of an output."""
        if kind == "GradOut":
            grad = grads[at]
            return zeros(self.outputs[at]) if grad is None else grad
        tensor = self.outputs[at] if kind == "Out" else self.given[at]
        return None if tensor is None else backward.activation(tensor)


def _register(options: onnxruntime.SessionOptions, *numbers: int) -> None:
    ops.register(options, numbers)


def _type(t: Tensor | None) -> ops.TensorType | None:
    from onnx import helper

    return None if t is None else ops.TensorType(int(helper.np_dtype_to_tensor_dtype(t.dtype.as_numpy())), t.shape)


def _dtype(number: int) -> dtype:
    from onnx import helper

    return dtype.as_dtype(helper.tensor_dtype_to_np_dtype(number))
