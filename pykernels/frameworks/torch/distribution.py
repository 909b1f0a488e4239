"""Distribute ops over the devices of `torch.distributed.tensor.DTensor`, as definitions' SBP signatures say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

from pykernels.define.definition import Sbp
from pykernels.define.instance import places
from pykernels.frameworks.torch.fake import specs_of
from pykernels.frameworks.torch.layout import Layout

#: How each result is placed on the devices, and each argument; None for one that is no tensor.
Placements = tuple[list[Any], list[Any]]


def register(operator: Any, current: Callable[[], Layout]) -> None:
    """Enter an operator into DTensor, unless it takes lists of tensors, which DTensor does not place.

    Parameters
    ----------
    operator : torch._ops.OpOverload
    current : callable
        Returns the layout of the op's calls.
    """

    def placements(*args: Any, **kwargs: Any) -> list[Placements]:
        return _placements(current(), list(map(_without_data, args)), kwargs)

    if not any(argument.repeated for argument in current().op.inputs):
        register_sharding(operator)(placements)


def _placements(layout: Layout, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Placements]:
    """Return the ways to place the tensors of a call, of which one is a copy of all on every device."""
    op, call = layout.op, layout.read({**dict(zip(layout.names, args)), **kwargs})
    inputs = specs_of(layout, call)
    outputs = op.infer(inputs, call.attributes, counts=call.counts)
    sides = [places(op.inputs, map(len, inputs)), places(op.outputs, map(len, outputs))]
    ways = [[[Replicate()] * len(side) for side in sides]]
    # On each device, an op would change its own copy of an input.
    if not any(argument.mutable for argument in op.inputs):
        for signature in op.list_sbp(inputs, outputs, call.attributes):
            if all(place in signature for side in sides for place in side):
                ways.append([[_placement(signature[place]) for place in side] for side in sides])
    found = []
    for of_inputs, of_outputs in ways:
        tensors = iter(of_inputs)
        found.append((of_outputs, [next(tensors) if isinstance(value, torch.Tensor) else None for value in args]))
    return found


def _placement(sbp: Sbp) -> Any:
    return Shard(sbp.axis) if sbp.kind == "S" else Partial() if sbp.kind == "P" else Replicate()


def _without_data(value: Any) -> Any:
    """Return a tensor without data for the description of a distributed one."""
    meta = getattr(value, "tensor_meta", None)
    return value if meta is None else torch.empty(meta.shape, dtype=meta.dtype, device="meta")
