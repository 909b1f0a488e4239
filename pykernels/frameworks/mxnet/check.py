"""Check ops in MXNet: on arrays and in a graph, in training and in inference."""

from __future__ import annotations

import contextlib
from typing import Any

import mxnet as mx
import numpy as np

from pykernels.frameworks.case import Case, Outcome, Way, call

_DTYPES = frozenset({"float16", "float32", "float64", "uint8", "int8", "int32", "int64"})


def takes(case: Case) -> bool:
    """Return whether MXNet has arrays for the dtypes of the inputs and outputs, and there are outputs."""
    return bool(case.counts) and case.dtypes <= _DTYPES


def ways(case: Case) -> dict[str, Way]:
    """Return the ways to call an op in MXNet."""
    if case.is_strided:
        return {"slices": lambda: _in_shapes(case, _eager, False)}
    found: dict[str, Way] = {"arrays": lambda: _in_shapes(case, _eager, case.has_training)}
    if case.has_training:
        found["arrays outside of training"] = lambda: _in_shapes(case, _eager, False)
    if case.in_graphs:
        found["graph"] = lambda: _in_shapes(case, _graph, case.has_training)
    if case.in_graphs and case.has_training:
        found["graph outside of training"] = lambda: _in_shapes(case, _graph, False)
    return found


def _in_shapes(case: Case, run: Any, is_train: bool) -> Outcome:
    """Run the case, with NumPy's shapes if it has scalars or empty arrays, whose shapes are unknown in MXNet's own."""
    results = case.expected[is_train].outputs
    is_odd = any(array.ndim == 0 or array.size == 0 for array in (*case.arrays, *results))
    with mx.util.np_shape(True) if is_odd else contextlib.nullcontext():
        outcome: Outcome = run(case, is_train)
    return outcome


def _array(array: np.ndarray) -> Any:
    return mx.nd.array(array, dtype=array.dtype)


def _slice(array: np.ndarray) -> Any:
    """Return a slice of a larger array, if there is a first axis to slice along."""
    if not array.ndim or not array.size:
        return _array(array)
    whole = _array(np.concatenate([array, array, array]))
    return whole[len(array) : 2 * len(array)]


def _eager(case: Case, is_train: bool) -> Outcome:
    make = _slice if case.is_strided else _array
    arrays = {name: [make(a) for a in group] for name, group in case.inputs.items()}
    places = case.places if is_train else []
    for name, index in places:
        arrays[name][index].attach_grad()
    with mx.autograd.record() if is_train else contextlib.nullcontext():
        results = call(case, arrays)
    if places:
        mx.autograd.backward(results, [_array(seed) for seed in case.seeds])
    gradients = {(name, index): arrays[name][index].grad.asnumpy() for name, index in places}
    outputs = [each.asnumpy() for each in results]
    states = [array.asnumpy() for name in case.states for array in arrays[name]]
    return Outcome(outputs, gradients, is_train, states)


def _graph(case: Case, is_train: bool) -> Outcome:
    names = {(name, i): f"{name}_{i}" for name, group in case.inputs.items() for i in range(len(group))}
    variables = {
        name: [mx.sym.Variable(names[name, i]) for i in range(len(group))] for name, group in case.inputs.items()
    }
    graph = mx.sym.Group(call(case, variables))
    arrays = {names[place]: _array(case.inputs[place[0]][place[1]]) for place in names}
    places = case.places if is_train else []
    wanted = {names[place]: mx.nd.zeros_like(arrays[names[place]]) for place in places}
    executor = graph.bind(
        mx.cpu(),
        {name: arrays[name] for name in graph.list_arguments()},
        wanted or None,
        "write" if wanted else "null",
        {name: arrays[name] for name in graph.list_auxiliary_states()},
    )
    results = executor.forward(is_train=is_train)
    if wanted:
        executor.backward([_array(seed) for seed in case.seeds])
    gradients = {place: wanted[names[place]].asnumpy() for place in places}
    # Outside of training, MXNet does not know that an operator has yet to write its states.
    outputs = [each.asnumpy() for each in results]
    mx.nd.waitall()
    states = [arrays[names[name, i]].asnumpy() for name in case.states for i in range(len(case.inputs[name]))]
    return Outcome(outputs, gradients, is_train, states)
