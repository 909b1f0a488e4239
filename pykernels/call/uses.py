"""Calls of an op by shapes and dtypes alone, without arrays and without kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pykernels.base import abi
from pykernels.define.definition import OpDef
from pykernels.define.instance import TensorSpec, make_instance
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample

__all__ = ["Use", "uses_of"]


@dataclass(frozen=True)
class Use:
    """A call of an op.

    Attributes
    ----------
    op : OpDef
    inputs : list of list of TensorSpec
        Of every input argument.
    attributes : mapping
        Every attribute.
    counts : sequence of int
        How many tensors each output argument stands for.
    """

    op: OpDef
    inputs: Sequence[Sequence[TensorSpec]]
    attributes: Mapping[str, Any]
    counts: Sequence[int]

    def infer(self) -> list[list[TensorSpec]]:
        """The tensors of every output argument; raises what `OpDef.infer` raises."""
        return self.op.infer(self.inputs, self.attributes, counts=self.counts)

    def instance(self) -> abi.Instance:
        """The same for the C ABI, with what is inferred."""
        return make_instance(self.op, self.inputs, self.infer(), self.attributes)


def uses_of(module: OpModule, sample: Sample) -> Iterator[Use]:
    """A call of the op of a folder, then those of the ops of the folder that its gradient consists of.

    Raises
    ------
    PykernelsError
        The definition refuses the arguments, or its gradient is wrong; what came before is right.
    """
    op = module.forward
    inputs = [[TensorSpec(array.shape, array.dtype) for array in group] for group in sample.inputs]
    forward = Use(op, inputs, sample.attributes, [argument.count for argument in op.outputs])
    yield forward
    if op.gradient is None:
        return
    outputs = forward.infer()
    blobs = dict(_blobs("I", [a.name for a in op.inputs], inputs))
    for kind in "OD":
        blobs |= _blobs(kind, [a.name for a in op.outputs], outputs)
    plan = op.plan_gradient(inputs, sample.attributes, outputs=outputs)
    for planned in plan.ops:
        if planned.type not in module.definition.ops:
            return
        step = module.definition.ops[planned.type]
        wanted = dict(planned.outputs)
        use = Use(
            step,
            [[blobs[blob] for argument, blob in planned.inputs if argument == a.name] for a in step.inputs],
            step.parse_attributes(planned.attributes),
            [wanted.get(a.name, 0 if a.optional else a.count) for a in step.outputs],
        )
        yield use
        for argument, group in zip(step.outputs, use.infer()):
            blobs |= {f"{planned.name}/{argument.name}_{i}": spec for i, spec in enumerate(group)}


def _blobs(kind: str, names: Sequence[str], groups: Sequence[Sequence[TensorSpec]]) -> Iterator[tuple[str, TensorSpec]]:
    for name, group in zip(names, groups):
        for i, spec in enumerate(group):
            yield f"{kind}/{name}/{i}", spec
