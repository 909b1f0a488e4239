"""Derivatives of ops: gradients as their definitions plan them, and derivatives along tangents."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from pykernels.base.abi import OpFlag
from pykernels.base.errors import DefinitionError, KernelError
from pykernels.base.refusals import NoGradient, NotProvided
from pykernels.define.definition import OpDef
from pykernels.define.instance import places
from pykernels.define.tangent_plan import TangentPlan, plan_tangent
from pykernels.frameworks.jax import table, tracing
from pykernels.frameworks.jax.use import Use, spec_of, use_of
from pykernels.frameworks.jax.vmap import is_elementwise

#: Calls an op on its inputs.
Call = Callable[[Use, Sequence[Any]], list[Any]]


def in_training(use: Use) -> Use:
    """Return the use of an op that is differentiated."""
    return dataclasses.replace(use, is_train=True) if use.is_train is None else use


def is_constant(use: Use) -> bool:
    """Whether the definition declares that the op has no gradient."""
    return bool(use.op.flags & OpFlag.NO_GRADIENT)


def is_real(array: Any) -> bool:
    """Whether an array has tangents."""
    return bool(jnp.issubdtype(array.dtype, jnp.inexact))


def is_given(tangent: Any) -> bool:
    """Whether a tangent may differ from zero."""
    return type(tangent) is not ad.Zero and tangent.dtype != jax.dtypes.float0


def gradients(
    use: Use, call: Call, inputs: Sequence[Any], results: Sequence[Any], seeds: Sequence[Any]
) -> list[Any | None]:
    """Return the gradient of each input; None for those that have none.

    The definition plans it, in PyTorch's convention for complex numbers, of which JAX's is the conjugate. Where it
    registers none, as for most backward ops, the gradient is that of the kernel's NumPy code, as JAX differentiates it.

    Parameters
    ----------
    use : Use
    call : callable
    inputs, results : sequence of array
        Those of the call.
    seeds : sequence of array
        The gradients of the results; None for results without.

    Raises
    ------
    NoGradient
        The definition registers none, and JAX cannot trace the kernel.
    DefinitionError
        The gradient is wrong.
    """
    op = use.op
    if op.gradient is None:
        return _traced_gradients(use, inputs, seeds)
    input_places, output_places = places(op.inputs, use.input_counts), places(op.outputs, use.output_counts)
    n_outputs = len(output_places)
    # The gradient reads states as the call leaves them.
    now = [*inputs[: use.states.start], *results[n_outputs:]]
    tensors = {f"I/{name}/{index}": array for (name, index), array in zip(input_places, now)}
    tensors |= {f"O/{name}/{index}": array for (name, index), array in zip(output_places, results)}

    def forward(blob: str) -> Any:
        if not blob.startswith("D/"):
            return tensors[blob]
        _, name, index = blob.split("/")
        at = output_places.index((name, int(index)))
        return jnp.zeros_like(results[at]) if seeds[at] is None else conjugate(seeds[at])

    def run(op: OpDef, groups: list[list[Any]], attributes: Mapping[str, Any], counts: list[int]) -> list[Any]:
        step = use_of(op, groups, attributes, counts, is_train=use.is_train)
        return call(step, [array for group in groups for array in group])

    outputs = use.outputs([spec_of(result, op.name) for result in results])
    plan = op.plan_gradient(use.specs(inputs), use.values, outputs=outputs)
    found = plan.run(forward, lambda op_type: table.find(op_type).op, run)
    for place, gradient in found.items():
        array = inputs[input_places.index(place)]
        if gradient.shape != array.shape or gradient.dtype != array.dtype:
            raise DefinitionError(
                f"{op.file}:{op.line}: the gradient of op '{op.name}' for its input '{place[0]}' is "
                f"{gradient.dtype}{list(gradient.shape)}, and the input is {array.dtype}{list(array.shape)}"
            )
    gradients = [found.get(place) for place in input_places]
    return [None if gradient is None else conjugate(gradient) for gradient in gradients]


def conjugate(array: Any) -> Any:
    """Convert a gradient between JAX's convention for complex numbers and PyTorch's, which is that of kernels."""
    return jnp.conj(array) if _is_complex(array) else array


def _is_complex(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.complexfloating))


def _traced_gradients(use: Use, inputs: Sequence[Any], seeds: Sequence[Any]) -> list[Any | None]:
    real = [at for at, array in enumerate(inputs) if is_real(array)]
    wanted = [at for at, seed in enumerate(seeds) if seed is not None]

    def run(*given: Any) -> list[Any]:
        whole = dict(zip(real, given))
        results = tracing.run(use, [whole.get(at, array) for at, array in enumerate(inputs)])
        return [results[at].astype(seeds[at].dtype) for at in wanted]

    try:
        _, pull = jax.vjp(run, *(inputs[at] for at in real))
    except KernelError as error:
        raise NoGradient(f"op '{use.op_type}' has no gradient: its definition registers none, and {error}") from error
    found = dict(zip(real, pull([seeds[at] for at in wanted])))
    return [found.get(at) for at in range(len(inputs))]


def tangents(
    use: Use, call: Call, inputs: Sequence[Any], results: Sequence[Any], given: Mapping[int, Any]
) -> list[Any]:
    """Return the derivatives of all real results along the tangents of some inputs, by position.

    The definition may have an op for them. Otherwise, an elementwise op depends on each real element by a factor, so
    its gradient with the tangent in place of the seed is the derivative. That of others is the transpose of their
    gradient, which needs the gradient of their backward op.
    """
    plan = plan_tangent(use.op)
    if plan is not None:
        return _planned_tangents(plan, use, call, inputs, results, given)
    seeds = [jnp.zeros_like(result) if is_real(result) else None for result in results]
    real = [at for at, seed in enumerate(seeds) if seed is not None]
    # A complex number may move along its conjugate, too.
    if is_elementwise(use, inputs) and not any(map(_is_complex, (*inputs, *results))):
        sums = []
        for at in real:
            terms = []
            for position, tangent in given.items():
                alone = [tangent if each == at else seed for each, seed in enumerate(seeds)]
                gradient = gradients(use, call, inputs, results, alone)[position]
                terms += [] if gradient is None else [gradient.astype(results[at].dtype)]
            sums.append(sum(terms, start=jnp.zeros_like(results[at])))
        return sums

    def pull(*cotangents: Any) -> list[Any]:
        whole = dict(zip(real, cotangents))
        found = gradients(use, call, inputs, results, [whole.get(at) for at in range(len(results))])
        return [jnp.zeros_like(inputs[at]) if found[at] is None else found[at] for at in given]

    try:
        _, push = jax.vjp(pull, *(seeds[at] for at in real))
        return list(push(list(given.values())))
    except NoGradient as error:
        raise NotProvided(
            f"op '{use.op_type}' has no forward-mode derivative (jvp): its definition has no Tangent, which `python -m "
            f"pykernels derive --forward-mode` writes; it is not elementwise, and {error}. Gradients, as of jax.grad "
            f"and jax.vjp, need none"
        ) from error


def _planned_tangents(
    plan: TangentPlan, use: Use, call: Call, inputs: Sequence[Any], results: Sequence[Any], given: Mapping[int, Any]
) -> list[Any]:
    n_outputs = sum(use.output_counts)
    moving = [given[at] if at in given else jnp.zeros_like(array) for at, array in enumerate(inputs)]
    # The derivative reads states as the call leaves them.
    now = [*inputs[: use.states.start], *results[n_outputs:]]
    groups = plan.inputs(use.inputs(now), use.outputs(results), use.inputs(moving))
    counts = [use.output_counts[at] for at in plan.outputs()]
    step = use_of(plan.op, groups, use.values, counts, is_train=use.is_train)
    found = iter(call(step, [array for group in groups for array in group]))
    tangents = [jnp.zeros_like(result) for result in results]
    grouped = use.outputs(range(n_outputs))
    for at in plan.outputs():
        for position in grouped[at]:
            tangents[position] = next(found)
    return [tangent for tangent in tangents if is_real(tangent)]
