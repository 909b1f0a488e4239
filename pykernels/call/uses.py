"""Describe calls of an op by shapes and dtypes alone, without arrays and kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, takewhile
from typing import Any

from pykernels.base import abi
from pykernels.define.definition import OpDef
from pykernels.define.gradient_plan import blobs
from pykernels.define.instance import TensorSpec, make_instance, specs_of
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample


@dataclass(frozen=True)
class Use:
    """A call of an op."""

    op: OpDef
    #: The tensors of every input argument.
    inputs: Sequence[Sequence[TensorSpec]]
    #: Every attribute.
    attributes: Mapping[str, Any]
    #: The number of tensors of each output argument.
    counts: Sequence[int]

    def infer(self) -> list[list[TensorSpec]]:
        """Return the tensors of every output argument; raise the errors of `OpDef.infer`."""
        return self.op.infer(self.inputs, self.attributes, counts=self.counts)

    def instance(self) -> abi.Instance:
        """Return the call for the C ABI, with the inferred outputs."""
        return make_instance(self.op, self.inputs, self.infer(), self.attributes)


def forward_use(module: OpModule, sample: Sample) -> Use:
    """Return the call of the op of a folder with the arguments of `sample`, which the definition may refuse."""
    op = module.forward
    return Use(op, specs_of(sample.inputs), sample.attributes, [argument.count for argument in op.outputs])


def gradient_uses(module: OpModule, forward: Use) -> list[Use]:
    """Return the calls of which the gradient of `forward` consists, up to the first op of another folder.

    This raises `PykernelsError` if the definition refuses the arguments or its gradient is wrong.
    """
    op = forward.op
    if op.gradient is None:
        return []
    outputs = forward.infer()
    tensors = blobs("I", op.inputs, forward.inputs) | blobs("O", op.outputs, outputs) | blobs("D", op.outputs, outputs)
    plan = op.plan_gradient(forward.inputs, forward.attributes, outputs=outputs)
    own = module.definition.ops
    uses: list[Use] = []

    def call(
        op: OpDef, inputs: Sequence[Sequence[TensorSpec]], attributes: Mapping[str, Any], counts: Sequence[int]
    ) -> list[TensorSpec]:
        uses.append(Use(op, inputs, attributes, counts))
        return list(chain(*uses[-1].infer()))

    ops = tuple(takewhile(lambda planned: planned.type in own, plan.ops))
    replace(plan, ops=ops, bindings={}).run(tensors.__getitem__, own.__getitem__, call)
    return uses
