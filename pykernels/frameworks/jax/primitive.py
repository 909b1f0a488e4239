"""The primitive of JAX that stands for every op, with its rules: shapes, differentiation, and how it runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax._src import dispatch
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from pykernels.frameworks.jax import derivative, placement, vmap
from pykernels.frameworks.jax.use import Use, array_type

#: Takes the inputs and a `Use`.
OP = Primitive("pykernels")
OP.multiple_results = True

#: The derivative of an op along tangents: takes the inputs, the results and the tangents of some inputs. It is linear
#: in the tangents. Its transpose is the gradient of the definition.
TANGENT = Primitive("pykernels_tangent")
TANGENT.multiple_results = True


def call(use: Use, arrays: Sequence[Any]) -> list[Any]:
    """Return the results of a call on arrays or tracers: the outputs, then the new states."""
    results: list[Any] = OP.bind(*_alike(arrays), use=use)
    return results


def _alike(arrays: Sequence[Any]) -> Sequence[Any]:
    """Let all arrays vary along the same axes of a `shard_map`, as functions of `jax.numpy` do."""
    axes = [jax.typeof(array).manual_axis_type.varying for array in arrays]
    every = frozenset().union(*axes)
    if all(own == every for own in axes):
        return arrays
    return [jax.lax.pcast(x, tuple(every - own), to="varying") for x, own in zip(arrays, axes)]


# ---- shapes


def _infer(*avals: Any, use: Use) -> list[Any]:
    types = [array_type(spec) for group in use.infer(avals) for spec in group]
    return [*(_aval(type_, avals) for type_ in types), *(avals[at] for at in use.states)]


def _aval(type_: jax.ShapeDtypeStruct, avals: Sequence[Any]) -> Any:
    """Return the type of an output, in the mesh of the inputs."""
    if not avals:
        return jax.core.ShapedArray(type_.shape, type_.dtype)
    first = avals[0]
    if first.shape == type_.shape:
        return first.update(dtype=type_.dtype, weak_type=False)
    replicated = jax.sharding.NamedSharding(first.sharding.mesh, jax.sharding.PartitionSpec(*[None] * len(type_.shape)))
    return first.update(shape=type_.shape, dtype=type_.dtype, weak_type=False, sharding=replicated)


def _infer_tangents(*avals: Any, use: Use, active: tuple[int, ...]) -> list[Any]:
    results = avals[len(avals) - len(active) - _n_results(use) : len(avals) - len(active)]
    return [aval.to_tangent_aval() for aval in results if derivative.is_real(aval)]


def _n_results(use: Use) -> int:
    return sum(use.output_counts) + len(use.states)


# ---- differentiation


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, use: Use) -> tuple[list[Any], list[Any]]:
    use = derivative.in_training(use)
    results = OP.bind(*primals, use=use)
    active = tuple(at for at, tangent in enumerate(tangents) if derivative.is_given(tangent))
    zeros = [ad.Zero(jax.typeof(result).to_tangent_aval()) for result in results]
    if not active or derivative.is_constant(use):
        return results, zeros
    found = iter(TANGENT.bind(*primals, *results, *(tangents[at] for at in active), use=use, active=active))
    return results, [next(found) if derivative.is_real(result) else zero for result, zero in zip(results, zeros)]


def _transpose(cotangents: Sequence[Any], *args: Any, use: Use, active: tuple[int, ...]) -> list[Any]:
    n_inputs, n_results = sum(use.input_counts), _n_results(use)
    inputs, results = args[:n_inputs], args[n_inputs : n_inputs + n_results]
    given = iter(cotangents)
    seeds = [next(given) if derivative.is_real(result) else None for result in results]
    if all(seed is None or type(seed) is ad.Zero for seed in seeds):
        gradients: list[Any] = [None] * len(active)
    else:
        whole = [ad.instantiate_zeros(seed) if seed is not None else None for seed in seeds]
        found = derivative.gradients(use, call, inputs, results, whole)
        gradients = [found[at] for at in active]
    linear = args[n_inputs + n_results :]
    missing = [ad.Zero(each.aval) for each in linear]
    return [None] * (n_inputs + n_results) + [
        zero if gradient is None else gradient for gradient, zero in zip(gradients, missing)
    ]


def _run_tangents(*args: Any, use: Use, active: tuple[int, ...]) -> list[Any]:
    n_inputs, n_results = sum(use.input_counts), _n_results(use)
    inputs, results = args[:n_inputs], args[n_inputs : n_inputs + n_results]
    return derivative.tangents(use, call, inputs, results, dict(zip(active, args[n_inputs + n_results :])))


def _jvp_of_tangents(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    whole = [ad.instantiate_zeros(each) for each in tangents]
    found, derivatives = jax.jvp(functools.partial(_run_tangents, **params), tuple(primals), tuple(whole))
    return found, derivatives


def _batch_tangents(args: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[list[Any], list[int]]:
    found = jax.vmap(functools.partial(_run_tangents, **params), in_axes=tuple(dims))(*args)
    return found, [0] * len(found)


# ---- running


def _immediately(primitive: Primitive) -> Callable[..., Any]:
    """Return the function that runs a primitive outside of `jax.jit`."""

    @functools.lru_cache(maxsize=4096)
    def compiled(params: tuple[tuple[str, Any], ...]) -> Any:
        return jax.jit(functools.partial(primitive.bind, **dict(params)))

    def run(*args: Any, **params: Any) -> Any:
        with jax.disable_jit(False):
            return compiled(tuple(params.items()))(*args)

    return run


for primitive, infer in ((OP, _infer), (TANGENT, _infer_tangents)):
    primitive.def_abstract_eval(infer)
    primitive.def_impl(_immediately(primitive))
    # Partitioning needs the devices, and JAX has no public way to say so.
    dispatch.prim_requires_devices_during_lowering.add(primitive)

ad.primitive_jvps[OP] = _jvp
ad.primitive_jvps[TANGENT] = _jvp_of_tangents
ad.primitive_transposes[TANGENT] = _transpose
batching.primitive_batchers[OP] = functools.partial(vmap.batch, call)
batching.primitive_batchers[TANGENT] = _batch_tangents
mlir.register_lowering(OP, mlir.lower_fun(placement.run_on_cpu, multiple_results=True), platform="cpu")
mlir.register_lowering(OP, mlir.lower_fun(placement.run_traced, multiple_results=True))
mlir.register_lowering(TANGENT, mlir.lower_fun(_run_tangents, multiple_results=True))
