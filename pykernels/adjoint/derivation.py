"""Derive the gradient of a function."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pykernels.adjoint.nodes import Graph
from pykernels.adjoint.reading import read_function
from pykernels.adjoint.reverse import gradients_of
from pykernels.adjoint.writing import Written, write
from pykernels.base.errors import KernelError


@dataclass(frozen=True)
class Call:
    """Arguments of a call, whose shapes decide where NumPy broadcasts."""

    arrays: Sequence[np.ndarray]
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class Gradient:
    """A derived function, and the inputs whose gradients it returns."""

    written: Written
    inputs: tuple[str, ...]


def derive_gradient(
    function: Callable[..., Any],
    inputs: Sequence[str],
    outputs: Sequence[str],
    calls: Sequence[Call],
    *,
    name: str = "backward",
    takes_tuple: bool = True,
) -> Gradient:
    """Derive the gradient of ``function(args, *, attributes)``, or of ``function(x, w, *, attributes)``.

    Parameters
    ----------
    inputs, outputs : sequence of str
        The names of the inputs and outputs; the gradient of ``y`` is ``dy``.
    calls : sequence of Call
        A few calls, with every number of axes that the inputs may have.
    name : str
        The name of the derived function.
    takes_tuple : bool
        Whether the functions take one tuple of arrays, as kernels do.

    Raises
    ------
    KernelError
        The function has a statement or an operation of which no gradient is derived; the message has the line.
    """
    assert isinstance(function, types.FunctionType)
    where = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}: {function.__name__}"
    graph = Graph({"np": np, **_scipy()}, len(calls))
    arrays = [
        graph.leaf("input", each, [call.arrays[at] for call in calls], active=calls[0].arrays[at].dtype.kind == "f")
        for at, each in enumerate(inputs)
    ]
    attributes = [
        graph.leaf("attribute", each, [call.attributes[each] for call in calls]) for each in calls[0].attributes
    ]
    known = inspect.signature(function).parameters
    passed = {leaf.name: leaf for leaf in attributes if leaf.name in known}
    result = read_function(graph, function, [graph.tuple(arrays)] if takes_tuple else arrays, passed)
    results = list(result.operands) if result.op == "tuple" else [result]
    if len(results) != len(outputs):
        raise KernelError(f"{where} returns {len(results)} arrays, not one for each of {', '.join(outputs)}")
    slopes = [
        graph.leaf("input", f"d{each}", list(map(np.ones_like, node.values))) for each, node in zip(outputs, results)
    ]
    found = gradients_of(graph, arrays, results, slopes)
    gradients = {each: gradient for each, gradient in zip(inputs, found) if gradient is not None}
    if not gradients:
        raise KernelError(f"{where} does not depend on its inputs in a way that has a gradient")
    kept = [graph.leaf("input", each, node.values) for each, node in zip(outputs, results)]
    leaves = [*arrays, *kept, *slopes, *attributes]
    named = {f"d{each}": gradient for each, gradient in gradients.items()}
    written = write(name, named, leaves, dict(zip(results, kept)), takes_tuple=takes_tuple)
    return Gradient(written, tuple(gradients))


def derive_source(function: Callable[..., Any], arrays: Sequence[np.ndarray], attributes: Mapping[str, Any]) -> str:
    """Return the source of the gradient of a function of arrays; see `pykernels.derive`."""
    parameters = inspect.signature(function).parameters.values()
    inputs = [each.name for each in parameters if each.default is each.empty and each.kind is not each.KEYWORD_ONLY]
    defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
    calls = [Call(arrays, {**defaults, **attributes})] if arrays else _made_up(len(inputs), {**defaults, **attributes})
    outputs = _outputs(function, calls[0])
    name = f"{function.__name__}_backward"
    return derive_gradient(function, inputs, outputs, calls, name=name, takes_tuple=False).written.source


def _made_up(inputs: int, attributes: Mapping[str, Any]) -> list[Call]:
    rng = np.random.default_rng(0)
    shapes = ((5,), (4, 5), (3, 4, 5))
    return [Call([rng.uniform(0.5, 2, shape) for _ in range(inputs)], attributes) for shape in shapes]


def _outputs(function: Callable[..., Any], call: Call) -> list[str]:
    with np.errstate(all="ignore"):
        results = function(*call.arrays, **call.attributes)
    return [f"y{at}" for at in range(len(results))] if isinstance(results, tuple) else ["y"]


def _scipy() -> dict[str, Any]:
    try:
        import scipy.special  # a derivative may need it
    except ImportError:
        return {}
    return {"scipy": scipy}
