"""Cases: calls of an op with NumPy's results, with which frameworks are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from pykernels.call.builder import user_op_builder
from pykernels.load import discovery

#: An input (argument, index).
Place = tuple[str, int]


@dataclass(frozen=True)
class Outcome:
    """The result of a call."""

    outputs: list[np.ndarray]
    #: The gradients of the sum of all outputs times their seeds, by input (argument, index); empty if none are
    #: computed.
    gradients: dict[Place, np.ndarray]
    #: Whether it is the result of a training pass.
    is_train: bool
    #: The states after the call; None if they are not visible.
    states: list[np.ndarray] | None = None
    #: By how much gradients that are obtained indirectly may differ; None for what their dtypes allow.
    tolerance: float | None = None


@dataclass(frozen=True)
class NodeCase:
    """An op of a gradient as a separate call, outside of training."""

    op_type: str
    inputs: list[list[np.ndarray]]
    attributes: dict[str, Any]
    counts: list[int]
    outputs: list[np.ndarray]


@dataclass(frozen=True)
class Case:
    """A call."""

    op_type: str
    #: The arrays of each input argument.
    inputs: dict[str, list[np.ndarray]]
    #: The attributes whose values differ from the definition's defaults.
    attributes: dict[str, Any]
    #: The number of tensors of each output argument.
    counts: dict[str, int]
    #: The gradients of the outputs.
    seeds: list[np.ndarray]
    #: The inputs that have a gradient.
    places: list[Place]
    #: The input arguments that the op changes.
    states: list[str]
    #: The results in training (True) and outside of it (False).
    expected: dict[bool, Outcome]
    #: The op and the ops of its gradient.
    nodes: list[NodeCase] = field(default_factory=list)
    #: The parameters of the API file's function, if the case calls that instead of the op.
    function: tuple[str, ...] = ()
    #: Whether tensors are not contiguous.
    is_strided: bool = False
    #: Whether it is also called in graphs, which takes longer.
    in_graphs: bool = True

    @property
    def arrays(self) -> list[np.ndarray]:
        """All input arrays."""
        return list(chain(*self.inputs.values()))

    @property
    def dtypes(self) -> set[str]:
        """The names of the dtypes of all inputs and outputs."""
        return {str(array.dtype) for array in (*self.arrays, *self.expected[False].outputs)}

    @property
    def has_training(self) -> bool:
        """Whether the result of the call in training is known."""
        return True in self.expected


Way = Callable[[], Outcome]


def strided(array: np.ndarray) -> np.ndarray:
    """Return the same numbers with gaps between them, and with the smallest stride along the first axis."""
    return np.repeat(array.T[..., None], 2, axis=-1)[..., 0].T


def call(case: Case, tensors: Mapping[str, Sequence[Any]]) -> list[Any]:
    """Call the op, or the function of its API file, on a framework's tensors; return the outputs as a list."""
    return _call_function(case, tensors) if case.function else _call_op(case, tensors)


def _call_op(case: Case, tensors: Mapping[str, Sequence[Any]]) -> list[Any]:
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
