"""A call of an op with the results of NumPy, to compare frameworks with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

__all__ = ["Case", "NodeCase", "Outcome", "Way", "call", "strided"]

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
    states : list of ndarray or None
        What the states are afterwards; None where they cannot be seen.
    tolerance : float or None
        By how much gradients may differ, if not by what dtypes allow: they are had in a roundabout way.
    """

    outputs: list[np.ndarray]
    gradients: dict[Place, np.ndarray]
    is_train: bool
    states: list[np.ndarray] | None = None
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
    function : tuple of str
        The parameters of the function of the op's API file, if that is to be called in place of the op.
    is_strided : bool
        Whether tensors are not to lie in memory element after element.
    in_graphs : bool
        Whether it is also called in graphs, which takes longer.
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
    function: tuple[str, ...] = ()
    is_strided: bool = False
    in_graphs: bool = True

    @property
    def arrays(self) -> list[np.ndarray]:
        """All arrays that go in."""
        return list(chain(*self.inputs.values()))

    @property
    def has_training(self) -> bool:
        """Whether it is known what the call gives in training."""
        return True in self.expected


Way = Callable[[], Outcome]


def strided(array: np.ndarray) -> np.ndarray:
    """The same numbers with others between them, those along the first axis closest together."""
    return np.repeat(array.T[..., None], 2, axis=-1)[..., 0].T


def call(case: Case, tensors: Mapping[str, Sequence[Any]]) -> list[Any]:
    """The op, or the function of its API file, on tensors of a framework; the outputs, one after the other."""
    return _call_function(case, tensors) if case.function else _call_op(case, tensors)


def _call_op(case: Case, tensors: Mapping[str, Sequence[Any]]) -> list[Any]:
    from pykernels.call.builder import user_op_builder

    builder = user_op_builder("check").Op(case.op_type)
    for name, group in tensors.items():
        if group:
            builder = builder.Input(name, list(group))
    for name, count in case.counts.items():
        if count:
            builder = builder.Output(name, count)
    for name, value in case.attributes.items():
        builder = builder.Attr(name, value)
    return list(builder.Build().InferAndTryRun().RemoteBlobList())


def _call_function(case: Case, tensors: Mapping[str, Sequence[Any]]) -> list[Any]:
    from pykernels.load import discovery

    module = discovery.find_op(case.op_type)
    given: dict[str, Any] = {}
    for argument in module.forward.inputs:
        group = list(tensors[argument.name])
        if argument.repeated:
            given[argument.name] = group
        elif group:
            given[argument.name] = group[0]
    given |= {
        attribute.name: case.attributes.get(attribute.name, attribute.default)
        for attribute in module.forward.attributes
    }
    results = getattr(module.api, module.name)(**{name: given[name] for name in case.function if name in given})
    return list(results) if isinstance(results, (list, tuple)) else [results]
