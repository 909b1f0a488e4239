"""A call of an op, and what NumPy makes of it, for comparing frameworks with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Case", "NodeCase", "Outcome", "Way", "call"]

#: An input (argument, index).
Place = tuple[str, int]


@dataclass(frozen=True)
class Outcome:
    """What a call gives.

    Attributes
    ----------
    outputs : list of ndarray
    gradients : dict
        By input (argument, index): of the sum of all outputs times their seeds. Empty where none are computed.
    is_train : bool
        Whether it is that of a training pass.
    tolerance : float or None
        By how much gradients may differ, if not by what dtypes allow: they are had in a roundabout way.
    """

    outputs: list[np.ndarray]
    gradients: dict[Place, np.ndarray]
    is_train: bool
    tolerance: float | None = None


@dataclass(frozen=True)
class NodeCase:
    """An op of a gradient as a call of its own, outside of training."""

    op_type: str
    inputs: list[list[np.ndarray]]
    attributes: dict[str, Any]
    counts: list[int]
    outputs: list[np.ndarray]


@dataclass(frozen=True)
class Case:
    """A call.

    Attributes
    ----------
    op_type : str
    inputs : dict
        The arrays of each input argument.
    attributes : dict
        The attributes that are not what the definition has for them.
    counts : dict
        How many tensors each output argument stands for.
    seeds : list of ndarray
        The gradients of the outputs.
    places : list of (str, int)
        The inputs that have a gradient.
    states : list of str
        The input arguments that the op changes.
    expected : dict
        What it gives in training (True) and outside (False).
    nodes : list of NodeCase
        The op and those of its gradient.
    """

    op_type: str
    inputs: dict[str, list[np.ndarray]]
    attributes: dict[str, Any]
    counts: dict[str, int]
    seeds: list[np.ndarray]
    places: list[Place]
    states: list[str]
    expected: dict[bool, Outcome]
    nodes: list[NodeCase] = field(default_factory=list)


Way = Callable[[], Outcome]


def call(case: Case, tensors: Mapping[str, Sequence[Any]]) -> list[Any]:
    """The op on tensors of a framework; its outputs, one after the other."""
    import pykernels

    builder = pykernels.user_op_builder("check").Op(case.op_type)
    for name, group in tensors.items():
        if group:
            builder = builder.Input(name, list(group))
    for name, count in case.counts.items():
        if count:
            builder = builder.Output(name, count)
    for name, value in case.attributes.items():
        builder = builder.Attr(name, value)
    return list(builder.Build().InferAndTryRun().RemoteBlobList())
