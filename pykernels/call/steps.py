"""What an op runs in a training step: the kernel of its forward pass, then those of its gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from pykernels.base.errors import DefinitionError
from pykernels.call.arrays import KernelCall
from pykernels.define.definition import OpDef, TensorSpec
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample, draw

__all__ = ["Gradient", "Step", "forward_step", "gradient", "gradient_steps"]

_Groups = Sequence[Sequence[np.ndarray]]


@dataclass(frozen=True)
class Step:
    """One kernel on arrays.

    Attributes
    ----------
    op : OpDef
    inputs, outputs : sequence of sequence of ndarray
        The arrays of each argument.
    attributes : mapping
        Every attribute.
    call : KernelCall
        Runs the kernel on them.
    is_train : bool
        Whether it does so as in training.
    """

    op: OpDef
    inputs: _Groups
    outputs: _Groups
    attributes: Mapping[str, Any]
    call: KernelCall
    is_train: bool = True

    @property
    def name(self) -> str:
        """The function of the kernel file, such as ``forward``."""
        return self.call.kernel.function.name

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays, each of which is read or written at least once."""
        return sum(array.nbytes for array in chain(*self.inputs, *self.outputs))

    @property
    def elements(self) -> int:
        """Those of the largest array."""
        return max((array.size for array in chain(*self.inputs, *self.outputs)), default=0)


@dataclass(frozen=True)
class Gradient:
    """The gradient of an op, on arrays.

    Attributes
    ----------
    steps : list of Step
        In an order in which they can run.
    seeds : sequence of sequence of ndarray
        The gradients of the outputs of the op, from which it begins.
    bound : dict
        The gradient of each input (argument, index) that has one, which the steps compute.
    """

    steps: list[Step]
    seeds: _Groups
    bound: dict[tuple[str, int], np.ndarray]


def forward_step(module: OpModule, sample: Sample, *, is_train: bool = True) -> Step:
    """The forward pass of an op; its kernel is built here, and not run yet.

    Raises
    ------
    PykernelsError
        The definition refuses the arguments, or there is no kernel for them.
    """
    return _step(module, module.forward, sample.inputs, sample.attributes, None, is_train)


def gradient_steps(module: OpModule, forward: Step) -> list[Step]:
    """The steps of `gradient`; none if `forward` has no gradient. Raises what that raises."""
    return [] if forward.op.gradient is None else gradient(module, forward).steps


def gradient(module: OpModule, forward: Step) -> Gradient:
    """The ops that the definition wants for the gradient of `forward`, with random gradients of its outputs.

    Their inputs are the arrays of `forward`, so run that first where values matter.

    Raises
    ------
    PykernelsError
        As `forward_step`, or the gradient asks for an op that the folder does not define.
    """
    inputs, outputs = ([[_spec(a) for a in group] for group in groups] for groups in (forward.inputs, forward.outputs))
    plan = forward.op.plan_gradient(inputs, forward.attributes, outputs=outputs)
    seeds = [[draw(a.shape, a.dtype, 100 + i) for i, a in enumerate(group)] for group in forward.outputs]
    blobs: dict[str, np.ndarray] = {}
    for argument, group in zip(forward.op.inputs, forward.inputs):
        blobs |= {f"I/{argument.name}/{i}": array for i, array in enumerate(group)}
    for argument, group, given in zip(forward.op.outputs, forward.outputs, seeds):
        blobs |= {f"O/{argument.name}/{i}": array for i, array in enumerate(group)}
        blobs |= {f"D/{argument.name}/{i}": array for i, array in enumerate(given)}
    steps = []
    for planned in plan.ops:
        op = module.definition.ops.get(planned.type)
        if op is None:
            raise DefinitionError(f"the gradient of {forward.op.name} asks for op {planned.type}, which is another's")
        read = [[blobs[blob] for argument, blob in planned.inputs if argument == each.name] for each in op.inputs]
        wanted = dict(planned.outputs)
        counts = [wanted.get(argument.name, 0 if argument.optional else argument.count) for argument in op.outputs]
        step = _step(module, op, read, op.parse_attributes(planned.attributes), counts, forward.is_train)
        for argument, group in zip(op.outputs, step.outputs):
            blobs |= {f"{planned.name}/{argument.name}_{i}": array for i, array in enumerate(group)}
        steps.append(step)
    return Gradient(steps, seeds, {place: blobs[blob] for place, blob in plan.bindings.items()})


def _step(
    module: OpModule,
    op: OpDef,
    inputs: _Groups,
    attributes: Mapping[str, Any],
    counts: Sequence[int] | None,
    is_train: bool,
) -> Step:
    inferred = op.infer([[_spec(a) for a in group] for group in inputs], attributes, counts=counts)
    # Written to now, so that no page of theirs is new to the first who is timed.
    outputs = [[np.full(spec.shape or (), 1, spec.dtype) for spec in group] for group in inferred]
    call = KernelCall(op, module.number(op.name), inputs, outputs, attributes, is_train=is_train)
    return Step(op, inputs, outputs, attributes, call, is_train)


def _spec(array: np.ndarray) -> TensorSpec:
    return TensorSpec(array.shape, array.dtype)
