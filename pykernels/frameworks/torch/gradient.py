"""Gradients of ops that are carried out in Python: a definition's plan as calls of PyTorch's operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function

from pykernels.base.abi import OpFlag
from pykernels.base.errors import DefinitionError, PykernelsError
from pykernels.base.refusals import NoGradient, NotProvided, RefusedCall
from pykernels.define.definition import GradientPlan, TensorSpec
from pykernels.frameworks.torch.fake import specs_of
from pykernels.frameworks.torch.layout import Call, Layout, numpy_dtype

__all__ = ["recorded"]

#: The operator of an op type, and how it is called.
Find = Callable[[str], "tuple[Any, Layout]"]


def recorded(layout: Layout, call: Call, name: str, run: Callable[[], Any], find: Find) -> Any:
    """What a call returns, which remembers what its gradient needs if one may be asked for.

    Parameters
    ----------
    name : str
        PyTorch's name for the op.
    run : callable
        Carries the call out.
    find : callable
    """
    tensors = call.tensors
    for tensor in tensors:
        if torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:
            raise NotProvided(
                f"op '{name}' has no forward-mode derivative (jvp): only gradients, as of backward(), vjp and grad, "
                "are computed"
            )
    is_constant = bool(layout.op.flags & OpFlag.NO_GRADIENT)
    if not torch.is_grad_enabled() or is_constant or not any(tensor.requires_grad for tensor in tensors):
        return _bumped(layout, call, run())
    for state_name, state in _states(layout, call):
        if state.requires_grad:
            raise RefusedCall(
                f"op '{layout.op.name}': it changes its input '{state_name}' in place, which requires a gradient; make "
                "it a buffer (register_buffer) or detach() it"
            )
    with enable_single_level_autograd_function():
        outputs = _Recorded.apply(_Task(layout, call, name, run, find), *tensors)
    return layout.pack(outputs, call.counts)


def _states(layout: Layout, call: Call) -> list[tuple[str, Any]]:
    return [(a.name, tensor) for a, group in zip(layout.op.inputs, call.inputs) if a.mutable for tensor in group]


def _bumped(layout: Layout, call: Call, result: Any) -> Any:
    """`result`, with states marked as changed."""
    for _, state in _states(layout, call):
        if not state.is_inference():
            torch.autograd.graph.increment_version(state)
    return result


class _Task:
    """One call, and the plan of its gradient."""

    def __init__(self, layout: Layout, call: Call, name: str, run: Callable[[], Any], find: Find) -> None:
        self.layout = layout
        self.call = call
        self.find = find
        self._name = name
        self._run = run
        op = layout.op
        self.inputs = [f"I/{a.name}/{i}" for a, group in zip(op.inputs, call.inputs) for i in range(len(group))]
        names = [f"{a.name}/{i}" for a, count in zip(op.outputs, call.counts) for i in range(count)]
        self.outputs = [f"O/{each}" for each in names]
        self.gradients = [f"D/{each}" for each in names]
        self.states = {f"I/{a.name}/{i}" for a in op.inputs if a.mutable for i in range(len(call.inputs))}

    def forward(self) -> list[Any]:
        """The outputs."""
        return self.layout.unpack(_bumped(self.layout, self.call, self._run()))

    def plan(self, outputs: list[Any]) -> GradientPlan | None:
        """How gradients are computed; None if they are not."""
        op = self.layout.op
        if op.gradient is None:
            return None
        unknown = [[TensorSpec(None, None) for _ in group] for group in self.call.inputs]
        rest = iter(outputs)
        groups = [[next(rest) for _ in range(count)] for count in self.call.counts]
        blank = [[TensorSpec(None, None) for _ in group] for group in groups]
        try:
            return op.plan_gradient(unknown, self.call.attributes, outputs=blank)
        except DefinitionError:
            # It depends on the shapes, or it is wrong, which is told when it is made for them.
            inputs = specs_of(self.layout, self.call, lambda shape: [int(size) for size in shape])
            known = [[TensorSpec(tuple(map(int, t.shape)), numpy_dtype(t.dtype)) for t in group] for group in groups]
            try:
                return op.plan_gradient(inputs, self.call.attributes, outputs=known)
            except PykernelsError as error:
                raise RuntimeError(str(error)) from error

    def backward(self, plan: GradientPlan | None, blobs: dict[str, Any], wanted: list[bool]) -> list[Any]:
        """The gradients of the inputs; None for those that have none."""
        if plan is None:
            raise NoGradient(
                f"op '{self._name}' has no gradient: its definition registers none for '{self.layout.op.name}'"
            )
        for step in plan.ops:
            operator, layout = self.find(step.type)
            op = layout.op
            given = [[blobs[blob] for argument, blob in step.inputs if argument == a.name] for a in op.inputs]
            counts_of = dict(step.outputs)
            counts = [counts_of.get(a.name, 0 if a.optional or a.variadic else a.count) for a in op.outputs]
            values = layout.write(given, op.parse_attributes(step.attributes), counts, self.call.is_train)
            results = iter(layout.unpack(operator(**values)))
            for argument, count in zip(op.outputs, counts):
                blobs |= {f"{step.name}/{argument.name}_{i}": next(results) for i in range(count)}
        bound = {f"I/{argument}/{index}": blob for (argument, index), blob in plan.bindings.items()}
        return [
            blobs[bound[name]] if is_wanted and name in bound else None for name, is_wanted in zip(self.inputs, wanted)
        ]


# Where this is called, PyTorch has taken the transforms of torch.func apart already: this is for one of them.
class _Recorded(torch.autograd.function._SingleLevelFunction):
    @staticmethod
    def forward(ctx: Any, task: _Task, *tensors: Any) -> tuple[Any, ...]:
        outputs = task.forward()
        plan = task.plan(outputs)
        ctx.task, ctx.plan = task, plan
        read = {blob for step in plan.ops for _, blob in step.inputs} | set(plan.bindings.values()) if plan else set()
        # A state as this call leaves it, whatever later calls make of it.
        saved = {
            name: tensor.clone() if name in task.states else tensor
            for name, tensor in zip([*task.inputs, *task.outputs], [*tensors, *outputs])
            if name in read
        }
        ctx.names = list(saved)
        ctx.save_for_backward(*saved.values())
        # The gradient of a loss that ends a network depends on none, and is there all the same.
        wanted = read.intersection(task.gradients)
        constants = [o for o, name in zip(outputs, task.gradients) if wanted and name not in wanted]
        bound = {f"I/{argument}/{index}" for argument, index in plan.bindings} if plan else set(task.inputs)
        if not any(tensor.requires_grad for tensor, name in zip(tensors, task.inputs) if name in bound):
            constants = outputs
        ctx.mark_non_differentiable(*constants, *(o for o in outputs if not o.dtype.is_floating_point))
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        blobs = dict(zip(ctx.names, ctx.saved_tensors)) | dict(zip(ctx.task.gradients, gradients))
        return (None, *ctx.task.backward(ctx.plan, blobs, list(ctx.needs_input_grad[1:])))
