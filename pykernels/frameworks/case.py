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
    """The result of a call.

    Attributes
    ----------
    outputs : list of ndarray
    gradients : dict
        The gradients of the sum of all outputs times their seeds, by input (argument, index); empty if none are
        computed.
    is_train : bool
        Whether it is the result of a training pass.
    states : list of ndarray or None
        The states after the call; None if they are not visible.
    tolerance : float or None
        By how much gradients that are obtained indirectly may differ; None for what their dtypes allow.
    """

    outputs: list[np.ndarray]
    gradients: dict[Place, np.ndarray]
    is_train: bool
    states: list[np.ndarray] | None = None
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
    """A call.

    Attributes
    ----------
    op_type : str
    inputs : dict
        The arrays of each input argument.
    attributes : dict
        The attributes whose values differ from the definition's defaults.
    counts : dict
        The number of tensors of each output argument.
    seeds : list of ndarray
        The gradients of the outputs.
    places : list of (str, int)
        The inputs that have a gradient.
    states : list of str
        The input arguments that the op changes.
    expected : dict
        The results in training (True) and outside of it (False).
    nodes : list of NodeCase
        The op and the ops of its gradient.
    function : tuple of str
        The parameters of the API file's function, if the case calls that instead of the op.
    is_strided : bool
        Whether tensors are not contiguous.
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
        """All input arrays."""
        return list(chain(*self.inputs.values()))

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
