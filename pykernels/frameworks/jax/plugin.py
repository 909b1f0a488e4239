"""Call ops on JAX's arrays and tracers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from pykernels.base import fork
from pykernels.base.errors import KernelError
from pykernels.base.refusals import RefusedCall
from pykernels.frameworks.jax import primitive, table
from pykernels.frameworks.jax.use import use_of
from pykernels.load.module import OpModule

add, remove = table.add, table.remove


def owns(value: Any) -> bool:
    """Whether `value` is an array, or a tracer of one."""
    return isinstance(value, jax.Array)


def bind(
    module: OpModule,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> Callable[..., Sequence[Any]]:
    """Return a function that calls an op on arrays.

    Returns
    -------
    callable
        Takes and returns arrays. It raises `CallError` if the definition refuses the inputs, `KernelError` if there is
        no kernel for them, and `jax.errors.JaxRuntimeError` if the kernel fails.

    Raises
    ------
    RefusedCall
        The op changes an input.
    """
    op = table.find(op_type).op
    use = use_of(op, inputs, attributes, counts)
    if use.states:
        name = next(argument.name for argument in op.inputs if argument.mutable)
        raise RefusedCall(
            f"op '{op_type}' changes its input '{name}', and JAX's arrays never change; call "
            f"pykernels.jax.{module.name}, which returns its new value after the outputs"
        )

    def call(*arrays: Any) -> Sequence[Any]:
        return primitive.call(use, arrays)

    is_traced = any(isinstance(array, jax.core.Tracer) for group in inputs for array in group)
    # For arrays, calls of what jax.jit returns take a third of the time.
    run = call if is_traced else jax.jit(call, inline=True)

    def checked(*arrays: Any) -> Sequence[Any]:
        if fork.is_forbidden():
            raise KernelError(f"op {op_type!r} is called in a kernel; combine ops in the API file")
        results: Sequence[Any] = run(*arrays)
        return results

    return checked
