"""Run an op's training step on arrays: the kernel of its forward pass, then those of its gradient."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from pykernels.base.errors import DefinitionError
from pykernels.call.arrays import KernelCall
from pykernels.define.definition import OpDef
from pykernels.define.gradient_plan import blobs
from pykernels.define.instance import specs_of
from pykernels.define.tangent_plan import plan_tangent
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample, draw

_Groups = Sequence[Sequence[np.ndarray]]


@dataclass(frozen=True)
class Step:
    """One kernel on arrays."""

    op: OpDef
    #: The arrays of each argument.
    inputs: _Groups
    outputs: _Groups
    #: Every attribute.
    attributes: Mapping[str, Any]
    #: Runs the kernel on the arrays.
    call: KernelCall
    #: Whether it runs as in training.
    is_train: bool = True

    @property
    def name(self) -> str:
        """The function of the kernel file, such as ``forward``."""
        return self.call.kernel.function.name

    @property
    def nbytes(self) -> int:
        """The number of bytes of all arrays, each of which the kernel reads or writes at least once."""
        return sum(array.nbytes for array in chain(*self.inputs, *self.outputs))

    @property
    def elements(self) -> int:
        """The number of bytes of the largest array."""
        return max((array.size for array in chain(*self.inputs, *self.outputs)), default=0)


@dataclass(frozen=True)
class Gradient:
    """The gradient of an op, on arrays."""

    #: The steps in an order in which they can run.
    steps: list[Step]
    #: The gradients of the op's outputs, from which the steps start.
    seeds: _Groups
    #: The gradient that the steps compute for each differentiable input (argument, index).
    bound: dict[tuple[str, int], np.ndarray]


def forward_step(module: OpModule, sample: Sample, *, is_train: bool = True) -> Step:
    """Return the forward pass of an op; build its kernel, but do not run it.

    This raises `PykernelsError` if the definition refuses the arguments, or no kernel can be built for them.
    """
    return _step(module, module.forward, sample.inputs, sample.attributes, None, is_train)


@dataclass(frozen=True)
class Tangent:
    """The forward-mode derivative of an op, on arrays."""

    #: The step that computes the tangents.
    step: Step
    #: The tangents of the op's inputs.
    seeds: _Groups
    #: The positions of the outputs of the op whose tangents the outputs of the step are.
    outputs: list[int]


def gradient_steps(module: OpModule, forward: Step) -> list[Step]:
    """Return the steps of `gradient`, none if `forward` has no gradient; raise the errors of `gradient`."""
    return [] if forward.op.gradient is None else gradient(module, forward).steps


def gradient(module: OpModule, forward: Step) -> Gradient:
    """Return the gradient of `forward` that the definition registers, with random gradients of the outputs.

    Its ops read the arrays of `forward`, so run `forward` first if values matter. This raises the errors of
    `forward_step`, and `DefinitionError` if the gradient names an op that the folder does not define.
    """
    plan = forward.op.plan_gradient(specs_of(forward.inputs), forward.attributes, outputs=specs_of(forward.outputs))
    seeds = [[draw(a.shape, a.dtype, 100 + i) for i, a in enumerate(group)] for group in forward.outputs]
    tensors = blobs("I", forward.op.inputs, forward.inputs)
    tensors |= blobs("O", forward.op.outputs, forward.outputs) | blobs("D", forward.op.outputs, seeds)
    steps: list[Step] = []

    def find(op_type: str) -> OpDef:
        if op_type not in module.definition.ops:
            raise DefinitionError(f"the gradient of {forward.op.name} asks for op {op_type}, which is another's")
        return module.definition.ops[op_type]

    def call(op: OpDef, read: _Groups, attributes: Mapping[str, Any], counts: Sequence[int]) -> list[np.ndarray]:
        steps.append(_step(module, op, read, attributes, counts, forward.is_train))
        return list(chain(*steps[-1].outputs))

    return Gradient(steps, seeds, plan.run(tensors.__getitem__, find, call))


def tangent(module: OpModule, forward: Step) -> Tangent | None:
    """Return the derivative of `forward` along random tangents; None if the folder has no op for it.

    Its op reads the arrays of `forward`, so run `forward` first if values matter. This raises the errors of
    `forward_step`, and `DefinitionError` if the op takes or returns anything else.
    """
    plan = plan_tangent(forward.op)
    if plan is None:
        return None
    seeds = [[draw(a.shape, a.dtype, 200 + i) for i, a in enumerate(group)] for group in forward.inputs]
    read = plan.inputs(forward.inputs, forward.outputs, seeds)
    counts = [len(forward.outputs[at]) for at in plan.outputs()]
    return Tangent(_step(module, plan.op, read, forward.attributes, counts, forward.is_train), seeds, plan.outputs())


def derivative_steps(module: OpModule, forward: Step) -> Iterator[Step]:
    """Yield the steps of the gradient of `forward`, those of their own gradients, and that of the tangents.

    Each reads what those before it compute, so run it before the next. This raises the errors of `gradient`.
    """
    first = gradient_steps(module, forward)
    yield from first
    for step in first:
        yield from gradient_steps(module, step)
    along = tangent(module, forward)
    if along is not None:
        yield along.step


def _step(
    module: OpModule,
    op: OpDef,
    inputs: _Groups,
    attributes: Mapping[str, Any],
    counts: Sequence[int] | None,
    is_train: bool,
) -> Step:
    inferred = op.infer(specs_of(inputs), attributes, counts=counts)
    # Write to the arrays now, so that page faults do not slow down the first timed run.
    outputs = [[np.full(spec.shape or (), 1, spec.dtype) for spec in group] for group in inferred]
    call = KernelCall(op, module.kernel_id(op.name), inputs, outputs, attributes, is_train=is_train)
    return Step(op, inputs, outputs, attributes, call, is_train)
