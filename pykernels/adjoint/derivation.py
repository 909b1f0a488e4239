"""Derive the gradient of a function."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import itertools
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pykernels.adjoint.expressions import NO_COMPLEX, read
from pykernels.adjoint.histories import Histories, keeping
from pykernels.adjoint.nodes import LEFT, Graph, Node, is_complex
from pykernels.adjoint.reading import read_function
from pykernels.adjoint.reverse import gradients_of
from pykernels.adjoint.states import check_states, computed
from pykernels.adjoint.writing import Written, write
from pykernels.base.errors import KernelError

# How many axes are made longer, one or several at a time.
_MOST_ALIKE = 10
# How much longer they are made at least: functions make arrays that are a little longer than others.
_LONGER = 4


@dataclass(frozen=True)
class Call:
    """Arguments of a call, whose shapes decide where NumPy broadcasts."""

    arrays: Sequence[np.ndarray]
    attributes: Mapping[str, Any]
    #: Arrays like the results, into which a kernel with `outs` writes.
    outs: Sequence[np.ndarray] = ()


@dataclass(frozen=True)
class Derivative:
    """A derived function, and the names of what it returns."""

    written: Written
    results: tuple[str, ...]


def with_unequal_lengths(call: Call, completed: Callable[[Call], Call]) -> Call:
    """Return a call whose lengths differ wherever they may: those of its arrays may be equal by chance.

    Parameters
    ----------
    completed : callable
        Returns a call with what belongs to it, or raises any exception if its arrays do not fit together.
    """
    axes = [(at, axis) for at, array in enumerate(call.arrays) for axis in range(array.ndim) if array.shape[axis] > 1]
    rng = np.random.default_rng(0)
    for size in range(1, min(len(axes), _MOST_ALIKE)):
        for changed in itertools.combinations(axes[:_MOST_ALIKE], size):
            lengths = {call.arrays[at].shape[axis] for at, axis in changed}
            others = {call.arrays[at].shape[axis] for at, axis in axes if (at, axis) not in changed}
            if len(lengths) == 1 and lengths <= others:
                arrays, length = list(call.arrays), lengths.pop()
                more = next(more for more in itertools.count(_LONGER) if length + more not in others)
                for at, axis in changed:
                    arrays[at] = _longer(arrays[at], axis, more, rng)
                with contextlib.suppress(Exception):
                    made = completed(replace(call, arrays=arrays))
                    call = made if all(np.size(each) for each in made.outs) else call
    return call


def _longer(array: np.ndarray, axis: int, more: int, rng: np.random.Generator) -> np.ndarray:
    """Return an array with more numbers along an axis, which are like the others, but not equal to them."""
    found = np.pad(array, [(0, more if at == axis else 0) for at in range(array.ndim)], mode="wrap")
    return found * rng.uniform(0.9, 1, found.shape).astype(found.dtype) if found.dtype.kind == "f" else found


def derive_gradient(
    function: Callable[..., Any],
    inputs: Sequence[str],
    outputs: Sequence[str],
    calls: Sequence[Call],
    *,
    name: str = "backward",
    prefix: str = "d",
    is_kernel: bool = True,
    by: Collection[str] | None = None,
    states: Collection[str] = (),
) -> Derivative:
    """Derive the gradient of ``function(args, *, attributes)``, or of ``function(x, w, *, attributes)``.

    Parameters
    ----------
    inputs, outputs : sequence of str
        The names of the inputs and outputs.
    calls : sequence of Call
        A few calls, with every number of axes that the inputs may have.
    name : str
        The name of the derived function.
    prefix : str
        What the names of gradients begin with: the gradient of ``y`` is ``dy``.
    is_kernel : bool
        Whether the derived function takes one tuple of arrays, as kernels do.
    by : collection of str, optional
        Those of the inputs that have a gradient; by default all but the `states`.
    states : collection of str
        Those of the inputs that the function changes.

    Raises
    ------
    KernelError
        The function has a statement or an operation of which no gradient is derived; the message has the line.
    """
    by = by or [each for each in inputs if each not in states]
    gradients, seeds = ({each: f"{prefix}{each}" for each in names} for names in (by, outputs))
    derive = functools.partial(_derive, function, inputs, seeds, calls, name, gradients, states)
    return keeping(functools.partial(derive, reads_outputs=True, is_kernel=is_kernel))


def derive_tangent(
    function: Callable[..., Any],
    inputs: Sequence[str],
    outputs: Sequence[str],
    calls: Sequence[Call],
    *,
    name: str,
    seeds: Sequence[str],
) -> Derivative:
    """Derive the function that computes the tangents of an op's outputs, ``ty`` from ``tx``, from its gradient.

    A gradient is linear in the gradients of the outputs. The function of tangents is its transpose: the gradient of
    `function` by these inputs.

    Parameters
    ----------
    function : callable
        The kernel that computes the gradient. `inputs`, `outputs` and `calls` are its own.
    seeds : sequence of str
        Those of its inputs that are gradients of the op's outputs.

    Raises
    ------
    KernelError
        As for `derive_gradient`, or `function` is not linear in the gradients of the outputs.
    """
    gradients, tangents = ({each: f"t{each[1:]}" for each in names} for names in (seeds, outputs))
    derive = functools.partial(_derive, function, inputs, tangents, calls, name, gradients, ())
    return keeping(functools.partial(derive, reads_outputs=False, is_kernel=True, is_transposed=True))


def _derive(
    function: Callable[..., Any],
    inputs: Sequence[str],
    outputs: Mapping[str, str],
    calls: Sequence[Call],
    name: str,
    gradients: Mapping[str, str],
    states: Collection[str],
    histories: Histories,
    *,
    reads_outputs: bool,
    is_kernel: bool,
    is_transposed: bool = False,
) -> Derivative:
    """Derive a gradient by some inputs. `outputs` and `gradients` have the names of the gradients of each.

    With `is_transposed`, the function is a gradient, and linear in those inputs: what is derived reads no more of them
    than their shapes, which it asks of what they are the gradients of.
    """
    assert isinstance(function, types.FunctionType)
    graph = Graph({"np": np, "scipy": _Scipy("scipy")}, len(calls), histories)
    arrays = [
        graph.leaf(
            "input",
            each,
            [call.arrays[at] for call in calls],
            active=each in gradients and calls[0].arrays[at].dtype.kind == "f",
        )
        for at, each in enumerate(inputs)
    ]
    attributes = [
        graph.leaf("attribute", each, [call.attributes[each] for call in calls]) for each in calls[0].attributes
    ]
    for leaf in arrays:
        if leaf.name in gradients and any(map(is_complex, leaf.values)):
            raise KernelError(f"{_place(function)}: {leaf.name} is complex, and {NO_COMPLEX}")
    known = inspect.signature(function).parameters
    passed = {leaf.name: leaf for leaf in attributes if leaf.name in known}
    if "outs" in known:
        passed["outs"] = graph.tuple(_outs(graph, calls, list(outputs.values())))
    own = {leaf: read(graph, "state.copy()", state=leaf) for leaf in arrays if leaf.name in states}
    given = [own.get(leaf, leaf) for leaf in arrays]
    result = read_function(graph, function, [graph.tuple(given)] if takes_tuple(function) else given, passed)
    results = list(result.operands) if result.op == "tuple" else [result]
    if len(results) != len(outputs):
        raise KernelError(f"{_place(function)} returns {len(results)} arrays, not one for each of {', '.join(outputs)}")
    slopes = [
        graph.leaf("input", each, list(map(np.ones_like, node.values))) for each, node in zip(outputs.values(), results)
    ]
    found = gradients_of(graph, arrays, results, slopes)
    named = {gradients[each]: gradient for each, gradient in zip(inputs, found) if gradient is not None}
    if not named:
        raise KernelError(f"{_place(function)} does not depend on {', '.join(gradients)} in a way that has a gradient")
    kept = [graph.leaf("input", each, node.values) for each, node in zip(outputs, results)] if reads_outputs else []
    leaves = [*arrays, *kept, *slopes, *attributes]
    stand = dict(zip(results, kept))
    # Of a view of an output, the output.
    views = [
        (node.operands[0], leaf) for node, leaf in stand.items() if node.op == "reshape" and node.operands[0].op == LEFT
    ]
    for view, leaf in views:
        made = view.made_as
        stand[view] = graph.node(made.op, made.form, [leaf, *made.operands[1:]])
    written = write(name, named, leaves, stand, takes_tuple=is_kernel)
    if is_transposed and (
        seeds := [leaf for leaf in arrays if leaf.name in gradients and leaf.name in written.arguments]
    ):
        _check_linear(function, graph, written, leaves, seeds)
        for leaf in seeds:
            leaf.rename(leaf.name[1:])
        written = write(name, named, leaves, stand, takes_tuple=is_kernel)
    if own:
        arguments = {"inputs": arrays, "outputs": kept, "slopes": slopes, "attributes": attributes}
        check_states(graph, function, written, arguments, own)
    return Derivative(written, tuple(named))


def _check_linear(
    function: types.FunctionType, graph: Graph, written: Written, leaves: Sequence[Node], seeds: Sequence[Node]
) -> None:
    """Raise `KernelError` if the transpose of a gradient depends on the values of the gradients of the outputs."""
    namespace = {**function.__globals__, **graph.namespace}
    exec(written.source, namespace)
    for sample in range(graph.samples):
        values = {leaf.name: leaf.values[sample] for leaf in leaves}
        others = {leaf.name: np.random.default_rng(0).normal(size=leaf.shapes[sample]) for leaf in seeds}
        found, expected = (computed(namespace[written.name], written, {**values, **more}) for more in ({}, others))
        if not all(np.allclose(a, b, 1e-9, 1e-9, equal_nan=True) for a, b in zip(found, expected)):
            names = ", ".join(leaf.name for leaf in seeds)
            raise KernelError(f"{_place(function)} is not linear in {names}, as a gradient is")


def _outs(graph: Graph, calls: Sequence[Call], gradients: Sequence[str]) -> list[Node]:
    """Return the arrays for the results of a kernel, which are like their gradients."""
    like = [
        graph.leaf("input", name, [np.ones_like(call.outs[at]) for call in calls]) for at, name in enumerate(gradients)
    ]
    return [read(graph, "np.empty_like(gradient)", gradient=each) for each in like]


def _place(function: Any) -> str:
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}: {function.__name__}"


def takes_tuple(function: Callable[..., Any]) -> bool:
    """Return whether a function takes one tuple of arrays, as kernels do."""
    return next(iter(inspect.signature(function).parameters), "") == "args"


def derive_source(function: Callable[..., Any], arrays: Sequence[np.ndarray], attributes: Mapping[str, Any]) -> str:
    """Return the source of the gradient of a function of arrays; see `pykernels.derive`."""
    parameters = inspect.signature(function).parameters.values()
    inputs = [each.name for each in parameters if each.default is each.empty and each.kind is not each.KEYWORD_ONLY]
    defaults = {each.name: each.default for each in parameters if each.default is not each.empty}

    def completed(call: Call) -> Call:
        with np.errstate(all="ignore"):
            results = function(*call.arrays, **call.attributes)
        return replace(call, outs=results if isinstance(results, tuple) else (results,))

    known = {**defaults, **attributes}
    calls = [with_unequal_lengths(Call(arrays, known), completed)] if arrays else _made_up(len(inputs), known)
    outputs = _names_of_results(function, calls[0], {each.name for each in parameters})
    name = f"{function.__name__}_backward"
    return derive_gradient(function, inputs, outputs, calls, name=name, is_kernel=False).written.source


def _made_up(inputs: int, attributes: Mapping[str, Any]) -> list[Call]:
    rng = np.random.default_rng(0)
    shapes = ((5,), (4, 5), (3, 4, 5))
    return [Call([rng.uniform(0.5, 2, shape) for _ in range(inputs)], attributes) for shape in shapes]


def _names_of_results(function: Callable[..., Any], call: Call, taken: Collection[str]) -> list[str]:
    """Return a name for each result, such as ``y``; neither it nor that of its gradient is the name of a parameter."""
    with np.errstate(all="ignore"):
        results = function(*call.arrays, **call.attributes)
    ends = [str(at) for at in range(len(results))] if isinstance(results, tuple) else [""]
    name = "y"
    while any(f"{prefix}{name}{end}" in taken for prefix in ("", "d") for end in ends):
        name += "_"
    return [f"{name}{end}" for end in ends]


class _Scipy(types.ModuleType):
    """SciPy, imported if a derivative needs it."""

    def __getattr__(self, name: str) -> Any:
        return importlib.import_module(f"scipy.{name}")
