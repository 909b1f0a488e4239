"""OneFlow: tensors, and graphs, for training and not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import oneflow as flow

from pykernels.checking.hosts.case import Case, Outcome, Way, call

__all__ = ["ways"]


def ways(case: Case) -> dict[str, Way]:
    """How to call an op here."""
    found: dict[str, Way] = {"tensors": lambda: _eager(case), "graph": lambda: _graph(case)}
    return {**found, "training in a graph": lambda: _trained(case)} if case.places else found


def _tensors(case: Case) -> dict[str, list[Any]]:
    return {name: [flow.tensor(a) for a in group] for name, group in case.inputs.items()}


def _loss(case: Case, results: Sequence[Any], seeds: Sequence[Any]) -> Any:
    terms = [(y * seed).sum() for y, seed in zip(results, seeds) if seed.dtype.is_floating_point]
    return sum(terms[1:], terms[0])


def _eager(case: Case) -> Outcome:
    tensors = _tensors(case)
    for name, index in case.places:
        tensors[name][index].requires_grad = True
    results = call(case, tensors)
    if case.places:
        _loss(case, results, [flow.tensor(seed) for seed in case.seeds]).backward()
    gradients = {(name, index): tensors[name][index].grad.numpy() for name, index in case.places}
    return Outcome([each.numpy() for each in results], gradients, is_train=bool(case.places))


class _Op(flow.nn.Module):  # type: ignore[misc]
    """The op; `places` are its parameters, and states are buffers."""

    def __init__(self, case: Case, places: Sequence[tuple[str, int]]) -> None:
        super().__init__()
        self.case = case
        self.places = list(places)
        for at, (name, index) in enumerate(self.places):
            self.register_parameter(f"p{at}", flow.nn.Parameter(flow.tensor(case.inputs[name][index])))
        for name in case.states:
            for index, array in enumerate(case.inputs[name]):
                self.register_buffer(f"{name}_{index}", flow.tensor(array))

    def parameter_at(self, place: tuple[str, int]) -> Any:
        return getattr(self, f"p{self.places.index(place)}")

    def forward(self, *others: Any) -> Any:
        given = iter(others)
        tensors: dict[str, list[Any]] = {}
        for name, group in self.case.inputs.items():
            for i in range(len(group)):
                if (name, i) in self.places:
                    tensor = self.parameter_at((name, i))
                else:
                    tensor = getattr(self, f"{name}_{i}") if name in self.case.states else next(given)
                tensors.setdefault(name, []).append(tensor)
        return tuple(call(self.case, tensors))


def _others(case: Case, places: Sequence[tuple[str, int]]) -> list[Any]:
    return [
        flow.tensor(array)
        for name, group in case.inputs.items()
        for i, array in enumerate(group)
        if (name, i) not in places and name not in case.states
    ]


def _graph(case: Case) -> Outcome:
    class Graph(flow.nn.Graph):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.op = _Op(case, []).eval()

        def build(self, *tensors: Any) -> Any:
            return self.op(*tensors)

    results = Graph()(*_others(case, []))
    results = results if isinstance(results, (list, tuple)) else [results]
    return Outcome([each.numpy() for each in results], {}, is_train=False)


def _trained(case: Case) -> Outcome:
    op = _Op(case, case.places).train()
    seeds = [flow.tensor(seed) for seed in case.seeds]

    class Graph(flow.nn.Graph):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.op = op
            self.add_optimizer(flow.optim.SGD(op.parameters(), lr=1.0))

        def build(self, *others: Any) -> Any:
            results = self.op(*others)
            results = results if isinstance(results, (list, tuple)) else [results]
            _loss(case, results, seeds).backward()
            return tuple(results)

    results = Graph()(*_others(case, case.places))
    results = results if isinstance(results, (list, tuple)) else [results]
    # A step of length 1 along them is what can be seen of gradients.
    gradients = {(name, i): case.inputs[name][i] - op.parameter_at((name, i)).numpy() for name, i in case.places}
    size = max(float(np.abs(a).max(initial=1)) for group in case.inputs.values() for a in group)
    return Outcome([each.numpy() for each in results], gradients, is_train=True, tolerance=1e-5 * size)
