"""Check auxiliary states: tensors that kernels change in place, so that OneFlow must pass the tensor itself.

OneFlow passes a copy of a tensor that is not contiguous or not distributed as the op requires, and of a graph's
arguments. Changes of a copy would be lost, so such calls are refused.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pykernels.base.errors import CallError
from pykernels.define.definition import OpDef


def checked(op: OpDef, counts: Sequence[int], call: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """Return `call`, made to raise `CallError` if a change of a state would be lost.

    Parameters
    ----------
    counts : sequence of int
        The number of tensors of each input argument.
    """
    states = list(_states(op, counts))

    def checked_call(*tensors: Any) -> tuple[Any, ...]:
        for name, at in states:
            _check(op, name, tensors[at])
        results = call(*tensors)
        if sys.modules["oneflow"]._oneflow_internal.lazy_mode.is_enabled():
            _check_graph(op)
        return results

    return checked_call


def _states(op: OpDef, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Return the states: the name of each one's argument, and its position among all tensors."""
    at = 0
    for argument, count in zip(op.inputs, counts, strict=True):
        for position in range(at, at + count):
            if argument.mutable:
                yield argument.name, position
        at += count


def _check(op: OpDef, name: str, tensor: Any) -> None:
    flow = sys.modules["oneflow"]
    changes = f"op {op.name}: it changes its input '{name}' in place, "
    if tensor.is_global and any(sbp != flow.sbp.broadcast for sbp in tensor.sbp):
        raise CallError(f"{changes}which must be broadcast to all ranks, but has sbp={tensor.sbp}")
    if not tensor.is_lazy and not tensor.is_contiguous():
        raise CallError(f"{changes}which must be contiguous: make it so with .contiguous() before")


def _check_graph(op: OpDef) -> None:
    """Check the op that was added to the graph last."""
    job = importlib.import_module("oneflow.framework.c_api_util").GetCurrentJob()
    if job.job_conf.num_gradient_accumulation_steps > 1:
        raise CallError(
            f"op {op.name}: it changes its inputs in place, and a graph that accumulates gradients hands out copies; "
            "set_gradient_accumulation_steps(1), or call the op outside of the graph"
        )
    variables = {each.name for each in job.net.op if each.HasField("variable_conf")}
    added = job.net.op[-1]
    for argument in op.inputs:
        for blob in added.user_conf.input[argument.name].s if argument.mutable else ():
            if blob.rpartition("/")[0] not in variables:
                raise CallError(
                    f"op {op.name}: it changes its input '{argument.name}' in place, which must be a buffer or a "
                    f"parameter of a module of the graph (register_buffer), but here is computed, or is an input of "
                    f"the graph, of which it has a copy"
                )
