"""Check an op in JAX: on arrays, and in a program that ``jax.jit`` compiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pykernels.frameworks.case import Case, Outcome, Way, call, strided
from pykernels.frameworks.jax.derivative import conjugate
from pykernels.frameworks.jax.functions import function
from pykernels.load import discovery

# Otherwise there are no arrays of 64-bit numbers.
jax.config.update("jax_enable_x64", True)


def takes(case: Case) -> bool:
    """Whether the function can return new states; JAX has arrays for all dtypes."""
    return not (case.function and case.states)


def ways(case: Case) -> dict[str, Way]:
    """Return the ways to call an op in JAX."""
    is_train = case.has_training and bool(case.places)
    found: dict[str, Way] = {"arrays": lambda: _run(case, is_train, lambda run: run)}
    if case.in_graphs:
        found["jax.jit"] = lambda: _run(case, is_train, jax.jit)
    if is_train:
        found["arrays outside of training"] = lambda: _run(case, False, lambda run: run)
    return found


def _run(case: Case, is_train: bool, compiled: Callable[[Any], Any]) -> Outcome:
    make = strided if case.is_strided else np.asarray
    arrays = {name: [jnp.asarray(make(a)) for a in group] for name, group in case.inputs.items()}
    places = case.places if is_train else []

    def forward(*variables: Any) -> list[Any]:
        given = {name: list(group) for name, group in arrays.items()}
        for (name, index), variable in zip(places, variables):
            given[name][index] = variable
        return _call(case, given)

    def with_gradients(*variables: Any) -> tuple[list[Any], Sequence[Any]]:
        results, pull = jax.vjp(forward, *variables)
        seeds = [jnp.asarray(seed) for seed in case.seeds]
        # The states come last, and no gradient reaches them.
        heads = [*seeds, *results[len(seeds) :]]
        given = [_cotangent(y, head, at < len(seeds)) for at, (y, head) in enumerate(zip(results, heads))]
        return results, [conjugate(gradient) for gradient in pull(given)]

    variables = [arrays[name][index] for name, index in places]
    results, gradients = compiled(with_gradients if places else lambda: (forward(), ()))(*variables)
    n_outputs = sum(case.counts.values())
    outputs, states = ([np.asarray(x) for x in part] for part in (results[:n_outputs], results[n_outputs:]))
    found = {place: np.asarray(gradient) for place, gradient in zip(places, gradients)}
    return Outcome(outputs, found, is_train, states)


def _call(case: Case, arrays: dict[str, list[Any]]) -> list[Any]:
    """Return the outputs, then the new states."""
    if not case.states:
        return call(case, arrays)
    forward = discovery.find_op(case.op_type).forward
    inputs = [arrays[each.name] if each.repeated else (arrays[each.name] or [None])[0] for each in forward.inputs]
    results = function(case.op_type)(*inputs, **case.attributes)
    return list(results) if isinstance(results, tuple) else [results]


def _cotangent(result: Any, seed: Any, is_seeded: bool) -> Any:
    if not jnp.issubdtype(result.dtype, jnp.inexact):
        return np.zeros(result.shape, jax.dtypes.float0)
    return conjugate(seed) if is_seeded else jnp.zeros_like(result)
