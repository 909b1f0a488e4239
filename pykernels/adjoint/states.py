"""Auxiliary states, which a gradient gets as the forward pass leaves them."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.adjoint.nodes import LEFT, Graph, Node
from pykernels.adjoint.writing import Written
from pykernels.base.errors import KernelError

# How far a gradient may be off if a state has other values.
_TOLERANCE = 1e-9


def check_states(
    graph: Graph,
    function: types.FunctionType,
    written: Written,
    arguments: Mapping[str, Sequence[Node]],
    states: Mapping[Node, Node],
) -> None:
    """Raise `KernelError` if a gradient needs a state as it is before the forward pass.

    Parameters
    ----------
    function : function
        The kernel of the forward pass.
    written : Written
        Its gradient.
    arguments : mapping of str to sequence of Node
        What they take: "inputs", "outputs", "slopes" and "attributes".
    states : mapping of Node to Node
        Those of the inputs that the kernel changes, each with the copy that it changes in the graph.
    """
    namespace = {**function.__globals__, **graph.namespace}
    exec(written.source, namespace)
    rng = np.random.default_rng(0)
    for sample in range(graph.samples):
        values = {leaf.name: leaf.values[sample] for leaves in arguments.values() for leaf in leaves}
        values |= {leaf.name: rng.uniform(0.5, 1, leaf.shapes[sample]) for leaf in arguments["slopes"]}
        left = _left_by(function, values, arguments)
        before = computed(namespace[written.name], written, values)
        for state, changed in states.items():
            after = computed(namespace[written.name], written, {**values, state.name: left[state.name]})
            if not all(np.allclose(a, b, _TOLERANCE, _TOLERANCE, equal_nan=True) for a, b in zip(before, after)):
                raise KernelError(
                    f"{_place(graph, changed)}: {state.name} changes here, and the gradient needs it as it was before: "
                    "write what it needs into an output, or write backward by hand"
                )


def _left_by(
    function: types.FunctionType, values: Mapping[str, Any], arguments: Mapping[str, Sequence[Node]]
) -> Mapping[str, Any]:
    """Return the inputs as a kernel leaves them."""
    left = {leaf.name: values[leaf.name].copy() for leaf in arguments["inputs"]}
    known = inspect.signature(function).parameters
    keywords = {leaf.name: values[leaf.name] for leaf in arguments["attributes"] if leaf.name in known}
    if "outs" in known:
        keywords["outs"] = tuple(np.empty_like(values[leaf.name]) for leaf in arguments["outputs"])
    with np.errstate(all="ignore"):
        function(tuple(left.values()), **keywords)
    return left


def computed(gradient: Callable[..., Any], written: Written, values: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
    """Return what a written function returns for arguments and attributes by name."""
    keywords = {each: values[each] for each in written.attributes}
    with np.errstate(all="ignore"):
        found = gradient(tuple(values[each] for each in written.arguments), **keywords)
    return found if isinstance(found, tuple) else (found,)


def _place(graph: Graph, array: Node) -> str:
    """Return where an array is changed first."""
    return next(node.place for node in graph.nodes if node.op == LEFT and node.made_as is array)
