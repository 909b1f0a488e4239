"""Runs of PopXL's graphs, from arrays to arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pykernels.vendors.popxl as popxl
from pykernels.vendors.popxl import ops
from pykernels.vendors.popxl.transforms import autodiff


def run(function: Callable[..., Any], *arrays: np.ndarray) -> list[np.ndarray]:
    """What a function makes of these arrays, in a main graph."""
    ir = popxl.Ir()
    with ir.main_graph:
        made = function(*(popxl.variable(array, popxl.dtype.as_dtype(array)) for array in arrays))
        streams = [_store(t) for t in (made if isinstance(made, (tuple, list)) else [made])]
    with popxl.Session(ir, "ipu_model") as session:
        results = session.run()
    return [results[stream] for stream in streams]


def gradients(
    function: Callable[..., Any], arrays: Sequence[np.ndarray], grads: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """The gradients of a function's floating point inputs, by `autodiff`."""

    def differentiated(*tensors: Any) -> Any:
        ir = popxl.gir()
        graph = ir.create_graph(function, *tensors)
        info = autodiff(graph, grads_required=[t for t in graph.inputs if t.dtype.is_floating_point])
        call = ops.call_with_info(graph, *tensors)
        given = [popxl.constant(grad, popxl.dtype.as_dtype(grad)) for grad in grads]
        return ops.call(info.graph, *given, inputs_dict=info.inputs_dict(call))

    return run(differentiated, *arrays)


def numerical_gradients(
    function: Callable[..., Any], arrays: Sequence[np.ndarray], grads: Sequence[np.ndarray], step: float = 1e-6
) -> list[np.ndarray]:
    """The same by central differences, all of them in one run."""

    def shifted(arrays: Sequence[np.ndarray], at: int, place: Any, by: float) -> list[np.ndarray]:
        copies = [array.copy() for array in arrays]
        copies[at][place] += by
        return copies

    places = [
        (at, place) for at, array in enumerate(arrays) if array.dtype.kind == "f" for place in np.ndindex(array.shape)
    ]
    points = [shifted(arrays, at, place, by) for at, place in places for by in (step, -step)]
    count = len(arrays)

    def everywhere(*tensors: Any) -> list[Any]:
        made: list[Any] = []
        for begin in range(0, len(tensors), count):
            returned = function(*tensors[begin : begin + count])
            made += returned if isinstance(returned, (tuple, list)) else [returned]
        return made

    values = run(everywhere, *(array for point in points for array in point))
    n = len(grads)
    sums = [sum((v * g).sum() for v, g in zip(values[i : i + n], grads)) for i in range(0, len(values), n)]
    results = [np.zeros_like(array) for array in arrays]
    for (at, place), up, down in zip(places, sums[::2], sums[1::2]):
        results[at][place] = (up - down) / (2 * step)
    return [result for result, array in zip(results, arrays) if array.dtype.kind == "f"]


def _store(t: Any) -> Any:
    stream = popxl.d2h_stream(t.shape, t.dtype)
    ops.host_store(stream, t)
    return stream
