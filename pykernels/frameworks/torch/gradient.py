"""Compute derivatives of ops that run through Python: a definition's plans as calls of PyTorch's operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function

from pykernels.base.abi import OpFlag
from pykernels.base.errors import DefinitionError, PykernelsError
from pykernels.base.refusals import NoGradient, NotProvided, RefusedCall
from pykernels.define.definition import OpDef
from pykernels.define.gradient_plan import GradientPlan, blobs
from pykernels.define.instance import TensorSpec
from pykernels.define.tangent_plan import plan_tangent
from pykernels.frameworks.torch.fake import specs_of
from pykernels.frameworks.torch.layout import Call, Layout, numpy_dtype

#: Returns the operator of an op type, and the layout of its calls.
Find = Callable[[str], "tuple[Any, Layout]"]


def recorded(layout: Layout, call: Call, name: str, run: Callable[[], Any], find: Find) -> Any:
    """Return the results of a call, recorded for its gradient if one may be requested.

    Parameters
    ----------
    name : str
        PyTorch's name for the op.
    run : callable
        Runs the call.
    find : callable
    """
    tensors = call.tensors
    has_tangents = any(torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors)
    is_recorded = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    is_constant = bool(layout.op.flags & OpFlag.NO_GRADIENT)
    if is_constant or not (is_recorded or has_tangents):
        return _bumped(layout, call, run())
    if has_tangents and plan_tangent(layout.op) is None:
        raise NotProvided(
            f"op '{name}' has no forward-mode derivative (jvp): its definition has no Tangent, which `python -m "
            "pykernels derive --forward-mode` writes. Gradients, as of backward(), vjp and grad, need none"
        )
    if is_recorded and not layout.op.outputs:
        raise RefusedCall(
            f"op '{layout.op.name}': it has no outputs and so no gradient, but an input requires one; detach() "
            "the input, or call the op under torch.no_grad()"
        )
    for state_name, state in _states(layout, call):
        if is_recorded and state.requires_grad:
            raise RefusedCall(
                f"op '{layout.op.name}': it changes its input '{state_name}' in place, which requires a gradient; make "
                "it a buffer (register_buffer) or detach() it"
            )
    with enable_single_level_autograd_function():
        outputs = _Recorded.apply(_Task(layout, call, name, run, find, has_tangents), *tensors)
    return layout.pack(outputs, call.counts)


def _states(layout: Layout, call: Call) -> list[tuple[str, Any]]:
    return [(a.name, tensor) for a, group in zip(layout.op.inputs, call.inputs) if a.mutable for tensor in group]


def _bumped(layout: Layout, call: Call, result: Any) -> Any:
    """Return `result`, with states marked as changed."""
    for _, state in _states(layout, call):
        if not state.is_inference():
            torch.autograd.graph.increment_version(state)
    return result


class _Task:
    """A call and the plans of its derivatives."""

    def __init__(
        self, layout: Layout, call: Call, name: str, run: Callable[[], Any], find: Find, has_tangents: bool
    ) -> None:
        self.layout = layout
        self.call = call
        self.find = find
        self.has_tangents = has_tangents
        self._name = name
        self._run = run
        op, results = layout.op, [range(count) for count in call.counts]
        self.inputs = list(blobs("I", op.inputs, call.inputs))
        self.outputs = list(blobs("O", op.outputs, results))
        self.gradients = list(blobs("D", op.outputs, results))
        self.states = {f"I/{a.name}/{i}" for a in op.inputs if a.mutable for i in range(len(call.inputs))}

    def forward(self) -> list[Any]:
        """Return the outputs."""
        return self.layout.unpack(_bumped(self.layout, self.call, self._run()))

    def plan(self, outputs: list[Any]) -> GradientPlan | None:
        """Return the plan of the gradient; None if there is none."""
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
            # The plan depends on the shapes, or it is wrong. Making it for the shapes reports the error.
            inputs = specs_of(self.layout, self.call, lambda shape: [int(size) for size in shape])
            known = [[TensorSpec(tuple(map(int, t.shape)), numpy_dtype(t.dtype)) for t in group] for group in groups]
            try:
                return op.plan_gradient(inputs, self.call.attributes, outputs=known)
            except PykernelsError as error:
                raise RuntimeError(str(error)) from error

    def backward(self, plan: GradientPlan | None, tensors: dict[str, Any], wanted: list[bool]) -> list[Any]:
        """Return the gradients of the inputs; None for those that have none."""
        if plan is None:
            raise NoGradient(
                f"op '{self._name}' has no gradient: its definition registers none for '{self.layout.op.name}'"
            )

        def call(op: OpDef, inputs: list[list[Any]], attributes: Mapping[str, Any], counts: list[int]) -> list[Any]:
            operator, layout = self.find(op.name)
            return layout.unpack(operator(**layout.write(inputs, attributes, counts, self.call.is_train)))

        bound = plan.run(tensors.__getitem__, lambda op_type: self.find(op_type)[1].op, call)
        places = [(a.name, i) for a, group in zip(self.layout.op.inputs, self.call.inputs) for i in range(len(group))]
        return [bound.get(place) if is_wanted else None for place, is_wanted in zip(places, wanted)]

    def without_tangents(self, outputs: Sequence[Any]) -> list[Any]:
        """Return the outputs that have no tangents."""
        plan = plan_tangent(self.layout.op)
        assert plan is not None
        places = [at for at, count in enumerate(self.call.counts) for _ in range(count)]
        return [output for output, at in zip(outputs, places) if at not in plan.outputs()]

    def tangents(self, outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """Return the tangents of the outputs, from those of the inputs; None for those that have none."""
        plan = plan_tangent(self.layout.op)
        assert plan is not None
        rest, results = iter(tangents), iter(outputs)
        inputs = [[torch.autograd.forward_ad.unpack_dual(x).primal for x in group] for group in self.call.inputs]
        moving = [[_or_zeros(next(rest), x) for x in group] for group in inputs]
        groups = [[next(results) for _ in range(count)] for count in self.call.counts]
        operator, layout = self.find(plan.op.name)
        counts = [self.call.counts[at] for at in plan.outputs()]
        given = layout.write(plan.inputs(inputs, groups, moving), self.call.attributes, counts, self.call.is_train)
        found = iter(layout.unpack(operator(**given)))
        by_output = {at: [next(found) for _ in range(count)] for at, count in zip(plan.outputs(), counts)}
        return [tangent for at, count in enumerate(self.call.counts) for tangent in by_output.get(at, [None] * count)]


def _or_zeros(tangent: Any, tensor: Any) -> Any:
    return torch.zeros_like(tensor) if tangent is None else tangent


# PyTorch has already split nested transforms of torch.func when it calls this, so this serves one of them.
class _Recorded(torch.autograd.function._SingleLevelFunction):
    @staticmethod
    def forward(ctx: Any, task: _Task, *tensors: Any) -> tuple[Any, ...]:
        outputs = task.forward()
        plan = task.plan(outputs)
        ctx.task, ctx.plan = task, plan
        read = plan.reads() if plan else set()
        # Copy the state as this call leaves it, since later calls may change it.
        saved = {
            name: tensor.clone() if name in task.states else tensor
            for name, tensor in zip([*task.inputs, *task.outputs], [*tensors, *outputs])
            if name in read
        }
        ctx.names = list(saved)
        ctx.save_for_backward(*saved.values())
        # The gradient of a loss at the end of a network depends on no other gradient, but exists.
        wanted = read.intersection(task.gradients)
        constants = [o for o, name in zip(outputs, task.gradients) if wanted and name not in wanted]
        bound = {f"I/{argument}/{index}" for argument, index in plan.bindings} if plan else set(task.inputs)
        if task.has_tangents:
            constants, ctx.outputs = task.without_tangents(outputs), outputs
        elif not any(tensor.requires_grad for tensor, name in zip(tensors, task.inputs) if name in bound):
            constants = outputs
        whole = (o for o in outputs if not (o.dtype.is_floating_point or o.dtype.is_complex))
        ctx.mark_non_differentiable(*constants, *whole)
        return tuple(outputs)

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> tuple[Any, ...]:
        # The graph must not keep itself alive.
        outputs, ctx.outputs = ctx.outputs, None
        return tuple(ctx.task.tangents(outputs, tangents))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        tensors = dict(zip(ctx.names, ctx.saved_tensors)) | dict(zip(ctx.task.gradients, gradients))
        return (None, *ctx.task.backward(ctx.plan, tensors, list(ctx.needs_input_grad[1:])))
