"""MXNet: arrays, and a graph."""

from __future__ import annotations

from typing import Any

import mxnet as mx
import numpy as np

from pykernels.checking.hosts.case import Case, Outcome, Way, call

__all__ = ["ways"]


def ways(case: Case) -> dict[str, Way]:
    """How to call an op here."""
    return {"arrays": lambda: _eager(case), "graph": lambda: _graph(case)}


def _array(array: np.ndarray) -> Any:
    return mx.nd.array(array, dtype=array.dtype)


def _eager(case: Case) -> Outcome:
    arrays = {name: [_array(a) for a in group] for name, group in case.inputs.items()}
    for name, index in case.places:
        arrays[name][index].attach_grad()
    with mx.autograd.record():
        results = call(case, arrays)
    if case.places:
        mx.autograd.backward(results, [_array(seed) for seed in case.seeds])
    gradients = {(name, index): arrays[name][index].grad.asnumpy() for name, index in case.places}
    return Outcome([each.asnumpy() for each in results], gradients, is_train=True)


def _graph(case: Case) -> Outcome:
    names = {(name, i): f"{name}_{i}" for name, group in case.inputs.items() for i in range(len(group))}
    variables = {
        name: [mx.sym.Variable(names[name, i]) for i in range(len(group))] for name, group in case.inputs.items()
    }
    graph = mx.sym.Group(call(case, variables))
    arrays = {names[place]: _array(case.inputs[place[0]][place[1]]) for place in names}
    wanted = {names[place]: mx.nd.zeros_like(arrays[names[place]]) for place in case.places}
    executor = graph.bind(
        mx.cpu(),
        {name: arrays[name] for name in graph.list_arguments()},
        wanted or None,
        "write" if wanted else "null",
        {name: arrays[name] for name in graph.list_auxiliary_states()},
    )
    results = executor.forward(is_train=True)
    if wanted:
        executor.backward([_array(seed) for seed in case.seeds])
    gradients = {place: wanted[names[place]].asnumpy() for place in case.places}
    return Outcome([each.asnumpy() for each in results], gradients, is_train=True)
