"""The NumPy plugin: ops called on arrays run their compiled kernels immediately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.base.errors import CallError
from pykernels.call.arrays import KernelCall
from pykernels.define.instance import new_outputs, specs_of
from pykernels.load.module import OpModule


def add(module: OpModule) -> None:
    """Nothing to do: a call finds its op among the loaded ones."""


def remove(module: OpModule) -> None:
    """Nothing to do, as with `add`."""


def owns(value: Any) -> bool:
    """Return whether `value` is an array or a NumPy scalar."""
    return isinstance(value, (np.ndarray, np.generic))


def call(
    module: OpModule,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> list[np.ndarray]:
    """Run an op on arrays of any layout.

    Parameters
    ----------
    inputs : sequence of sequence of ndarray
        The arrays of each input argument.
    attributes : mapping
        A value for every attribute of the definition.
    counts : sequence of int
        The number of arrays of each output argument.

    Returns
    -------
    list of ndarray
        New arrays, in the order of the output arguments.

    Raises
    ------
    CallError
        The definition rejects the inputs, or there is not enough memory for the outputs that it infers.
    KernelError
        The kernel failed.
    """
    op = module.definition.ops[op_type]
    # The kernel ABI requires aligned, C-contiguous buffers in native byte order.
    arrays = [[_plain(a) for a in group] for group in inputs]
    inferred = op.infer(specs_of(arrays), attributes, counts=counts)
    outputs = new_outputs(op, inferred)
    for argument, given in zip(op.inputs, inputs):
        if argument.mutable and not all(a.flags.writeable for a in given):
            raise CallError(f"op {op_type} changes its input '{argument.name}', but the array is read-only")
    # A call on arrays is not a training pass.
    KernelCall(op, module.kernel_id(op_type), arrays, outputs, attributes).run()
    for argument, given, used in zip(op.inputs, inputs, arrays):
        if argument.mutable:
            for original, changed in zip(given, used):
                original[...] = changed
    return [array for group in outputs for array in group]


def _plain(array: Any) -> np.ndarray:
    plain = np.asarray(array)
    return np.require(plain, plain.dtype.newbyteorder("="), ["C", "A"])
