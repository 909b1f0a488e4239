"""How an op runs in a compiled program: by its kernel on the CPU, traced into JAX's operations on other devices."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from pykernels.define.instance import make_instance
from pykernels.frameworks.jax import partitioning, table, tracing
from pykernels.frameworks.jax.registrar import TARGET
from pykernels.frameworks.jax.use import Use, array_type
from pykernels.kernel import service


def run_on_cpu(*arrays: Any, use: Use) -> list[Any]:
    """Return the results of the compiled kernel, on the devices that the program runs on.

    Raises
    ------
    KernelError
        There is no kernel for these arrays.
    """
    return partitioning.partitioned(use, arrays, _call_kernel)(*arrays)


def run_elsewhere(*arrays: Any, use: Use) -> list[Any]:
    """Return the results of the kernel's function on JAX's arrays.

    Raises
    ------
    KernelError
        It cannot be traced.
    """
    results = tracing.run(use, arrays)
    return [result.astype(array_type(spec).dtype) for result, spec in zip(results, _outputs(use, arrays))]


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
