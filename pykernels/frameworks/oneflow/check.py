"""Check an op in OneFlow: on tensors and in graphs, in training and outside of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import oneflow as flow

from pykernels.frameworks.case import Case, Outcome, Way, call

_DTYPES = frozenset({"float16", "float32", "float64", "bool", "uint8", "int8", "int32", "int64"})


def takes(case: Case) -> bool:
    """Whether OneFlow has tensors for the inputs and outputs, and there are outputs."""
    return bool(case.counts) and case.dtypes <= _DTYPES


def ways(case: Case) -> dict[str, Way]:
    """Return the ways to call an op in OneFlow."""
    if case.is_strided:
        # OneFlow itself cannot permute float16 on the CPU.
        is_possible = not any(array.dtype == np.float16 for array in case.arrays)
        return {"strided tensors": lambda: _eager(case)} if is_possible else {}
    found: dict[str, Way] = {"tensors": lambda: _eager(case)}
    # Its graphs abort the process if an array is empty, for any op.
    if not case.in_graphs or not all(array.size for array in (*case.arrays, *case.seeds)):
        return found
    found["graph"] = lambda: _graph(case)
    # On the CPU, optimizers and the ops that a loss needs do not support all dtypes.
    slopes = [seed for seed in case.seeds if seed.dtype.kind == "f"]
    if case.places and all(array.dtype == np.float32 for array in (*slopes, *_parameters(case))):
        found["training in a graph"] = lambda: _trained(case)
    return found


def _parameters(case: Case) -> list[np.ndarray]:
    return [case.inputs[name][index] for name, index in case.places]


def _strided(tensor: Any) -> Any:
    """Return the same numbers, adjacent along the first axis; a tensor of one axis has no other layout."""
    order = list(range(tensor.ndim))[::-1]
    return tensor.permute(*order).contiguous().permute(*order) if tensor.ndim > 1 else tensor


def _loss(case: Case, results: Sequence[Any], seeds: Sequence[Any]) -> Any:
    terms = [(y * seed).sum() for y, seed in zip(results, seeds) if seed.dtype.is_floating_point]
    return sum(terms[1:], terms[0])


def _eager(case: Case) -> Outcome:
    given = {name: [flow.tensor(a) for a in group] for name, group in case.inputs.items()}
    for name, index in case.places:
        given[name][index].requires_grad = True
    tensors = {
        name: [_strided(t) if case.is_strided and name not in case.states else t for t in group]
        for name, group in given.items()
    }
    results = call(case, tensors)
    if case.places:
        # Integers have no gradient, which OneFlow refuses to take.
        pairs = [(result, seed) for result, seed in zip(results, case.seeds) if result.requires_grad]
        flow.autograd.backward([result for result, _ in pairs], [flow.tensor(seed) for _, seed in pairs])
    gradients = {(name, index): given[name][index].grad.numpy() for name, index in case.places}
    states = [tensor.numpy() for name in case.states for tensor in given[name]]
    return Outcome([each.numpy() for each in results], gradients, bool(case.places), states)


class _Op(flow.nn.Module):  # type: ignore[misc]
    """The op as a module; `places` are its parameters, and states are buffers."""

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
    op = _Op(case, []).eval()

    class Graph(flow.nn.Graph):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.op = op

        def build(self, *tensors: Any) -> Any:
            return self.op(*tensors)

    results = Graph()(*_others(case, []))
    results = results if isinstance(results, (list, tuple)) else [results]
    return Outcome([each.numpy() for each in results], {}, is_train=False, states=_states(case, op))


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
    # Gradients are visible only as an optimizer step with learning rate 1.
    gradients = {(name, i): case.inputs[name][i] - op.parameter_at((name, i)).numpy() for name, i in case.places}
    size = max(float(np.abs(a).max(initial=1)) for a in (*case.arrays, *gradients.values()))
    found = [each.numpy() for each in results]
    return Outcome(found, gradients, is_train=True, states=_states(case, op), tolerance=1e-5 * size)


def _states(case: Case, op: Any) -> list[np.ndarray]:
    return [getattr(op, f"{name}_{i}").numpy() for name in case.states for i in range(len(case.inputs[name]))]
