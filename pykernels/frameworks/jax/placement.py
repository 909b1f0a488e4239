"""How an op runs in a compiled program: by its kernel, or traced into JAX's operations for XLA to compile."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from pykernels.base.errors import KernelError
from pykernels.define.instance import make_instance
from pykernels.frameworks import substitution
from pykernels.frameworks.jax import partitioning, table, tracing
from pykernels.frameworks.jax.registrar import TARGET
from pykernels.frameworks.jax.use import Use, array_type
from pykernels.kernel import service


def run_on_cpu(*arrays: Any, use: Use) -> list[Any]:
    """Return the results of the compiled kernel, on the devices that the program runs on.

    An op that is loaded with ``fuse=True`` is traced if that is possible.

    Raises
    ------
    KernelError
        There is no kernel for these arrays.
    """
    entry = table.find(use.op_type)
    if entry.fuse:
        try:
            return run_traced(*arrays, use=use)
        except KernelError as error:
            substitution.report(entry.kernel, use.op_type, "JAX", error)
    return partitioning.partitioned(use, arrays, _call_kernel)(*arrays)


def run_traced(*arrays: Any, use: Use) -> list[Any]:
    """Return the results of the kernel's function on JAX's arrays.

    Raises
    ------
    KernelError
        It cannot be traced.
    """
    results = tracing.run(use, arrays)
    dtypes = [array_type(spec).dtype for spec in _outputs(use, arrays)] + [arrays[at].dtype for at in use.states]
    return [result.astype(dtype) for result, dtype in zip(results, dtypes)]


def _call_kernel(use: Use, *arrays: Any) -> list[Any]:
    entry = table.find(use.op_type)
    groups = use.infer(arrays)
    # Report errors in the kernel now, not when the program runs.
    service.resolve(entry.kernel_id, make_instance(entry.op, use.specs(arrays), groups, use.values))
    outputs = _outputs(use, arrays)
    types = [jax.ShapeDtypeStruct(spec.shape, spec.dtype) for spec in outputs]
    states = {at: len(outputs) + number for number, at in enumerate(use.states)}
    types += [jax.ShapeDtypeStruct(arrays[at].shape, arrays[at].dtype) for at in states]
    results = jax.ffi.ffi_call(TARGET, types, input_output_aliases=states)(
        *arrays,
        op=use.op_type,
        attributes=dict(use.attributes),
        input_counts=np.array(use.input_counts, np.int32),
        output_counts=np.array(use.output_counts, np.int32),
        is_train=bool(use.is_train),
    )
    narrow = [result.astype(array_type(spec).dtype) for result, spec in zip(results, outputs)]
    return [*narrow, *results[len(outputs) :]]


def _outputs(use: Use, arrays: Any) -> list[Any]:
    return [spec for group in use.infer(arrays) for spec in group]
