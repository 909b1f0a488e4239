"""NumPy as a framework: ops called on arrays run their compiled kernels, at once."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pykernels import abi
from pykernels.definition import OpDef
from pykernels.errors import CallError, KernelError
from pykernels.instance import TensorSpec, make_instance
from pykernels.kernel import service
from pykernels.module import OpModule

__all__ = ["add", "call", "owns", "remove"]


def add(module: OpModule) -> None:
    """Nothing to do: a call finds its op among the loaded ones."""


def remove(module: OpModule) -> None:
    """Nothing to do, as with `add`."""


def owns(value: Any) -> bool:
    """Whether `value` is an array, or a number of one."""
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
        How many arrays each output argument stands for.

    Returns
    -------
    list of ndarray
        New arrays, argument after argument.

    Raises
    ------
    CallError
        The definition refuses the inputs.
    KernelError
        The kernel failed.
    """
    op = module.definition.ops[op_type]
    # The kernel ABI wants aligned, C-contiguous buffers in the processor's byte order.
    arrays = [[_plain(a) for a in group] for group in inputs]
    inferred = op.infer(_specs(arrays), attributes, counts=counts)
    outputs = [[np.empty(_known(s.shape), s.dtype) for s in group] for group in inferred]
    for argument, given in zip(op.inputs, inputs):
        if argument.mutable and not all(a.flags.writeable for a in given):
            raise CallError(f"op {op_type}: it changes its input '{argument.name}', which is read-only")
    _run(op, module.number(op_type), arrays, outputs, attributes)
    for argument, given, used in zip(op.inputs, inputs, arrays):
        if argument.mutable:
            for original, changed in zip(given, used):
                original[...] = changed
    return [array for group in outputs for array in group]


def _plain(array: Any) -> np.ndarray:
    plain = np.asarray(array)
    return np.require(plain, plain.dtype.newbyteorder("="), ["C", "A"])


def _specs(groups: Sequence[Sequence[np.ndarray]]) -> list[list[TensorSpec]]:
    return [[TensorSpec(a.shape, a.dtype) for a in group] for group in groups]


def _known(shape: tuple[int, ...] | None) -> tuple[int, ...]:
    assert shape is not None, "inference from known shapes gives known shapes"
    return shape


def _run(
    op: OpDef,
    number: int,
    inputs: Sequence[Sequence[np.ndarray]],
    outputs: Sequence[Sequence[np.ndarray]],
    attributes: Mapping[str, Any],
) -> None:
    instance = make_instance(op, _specs(inputs), _specs(outputs), attributes)
    kernel = service.resolve(number, instance)
    arrays = [array for groups in (inputs, outputs) for group in groups for array in group]
    data = (ctypes.c_void_p * max(1, len(arrays)))(*(a.ctypes.data for a in arrays))
    dims = [n for a in arrays for n in a.shape]
    sizes = (ctypes.c_int64 * max(1, len(dims)))(*dims)
    scalars = _scalars(kernel.struct, instance)
    detail = (ctypes.c_int64 * abi.DETAIL_SIZE)()
    run = ctypes.cast(kernel.struct.run, abi.KernelFn)
    status = run(data, sizes, ctypes.addressof(scalars), 0, -1, detail)
    if status != abi.Status.OK:
        raise KernelError(service.explain(kernel, status, data, sizes, ctypes.addressof(scalars), detail))


class _Scalar(ctypes.Union):
    _fields_ = [("integer", ctypes.c_int64), ("real", ctypes.c_double)]


def _scalars(kernel: abi.Kernel, instance: abi.Instance) -> ctypes.Array[_Scalar]:
    scalars: ctypes.Array[_Scalar] = (_Scalar * max(1, kernel.n_scalars))()
    for slot in range(kernel.n_scalars):
        position = kernel.scalars[slot]
        if position == abi.SCALAR_IS_TRAIN:
            continue  # a call on arrays is no training pass
        attr = instance.attrs[position]
        if attr.type in (abi.AttrType.FLOAT, abi.AttrType.DOUBLE):
            scalars[slot].real = attr.real
        else:
            scalars[slot].integer = attr.integer
    return scalars
