"""One use of an op as the C ABI describes it: ``pk_instance``, built from and read back into Python."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pykernels.base import abi, dtypes
from pykernels.base.errors import CallError
from pykernels.define.declared import Argument, Declaration

__all__ = ["NO_TENSORS", "TensorSpec", "arguments_of", "make_instance", "new_outputs", "read_tensors"]


class TensorSpec(NamedTuple):
    """Shape and dtype of a tensor; None where unknown."""

    shape: tuple[int, ...] | None
    dtype: np.dtype[Any] | None

    def __str__(self) -> str:
        return f"{self.dtype or 'unknown dtype'}{list(self.shape) if self.shape is not None else '[unknown shape]'}"


UNKNOWN = TensorSpec(None, None)
#: Stands for the inputs of an op of which not even the number of tensors is known.
NO_TENSORS: tuple[tuple[TensorSpec, ...], ...] = ()


def make_instance(
    op: Declaration,
    inputs: Sequence[Sequence[TensorSpec]],
    outputs: Sequence[Sequence[TensorSpec]],
    attributes: Mapping[str, Any],
    *,
    name: str | None = None,
) -> abi.Instance:
    """An ``Instance`` of `op`; it keeps alive what it points to.

    Parameters
    ----------
    inputs, outputs : sequence of sequence of TensorSpec
        The tensors of every argument in the order of the definition, none for an optional one that is left out;
        `NO_TENSORS` for an instance without tensors.
    attributes : mapping
        Every attribute, as `OpDef.parse_attributes` returns them.
    """
    instance = abi.Instance(name=(name or op.name).encode(), parallel_num=1)
    instance.inputs, instance.n_inputs = _tensors(op.inputs, inputs)
    instance.outputs, instance.n_outputs = _tensors(op.outputs, outputs)
    attrs = [abi.encode_attr(a.name, a.type, attributes[a.name]) for a in op.attributes]
    instance.attrs = (abi.Attr * max(1, len(attrs)))(*attrs)
    instance.n_attrs = len(attrs)
    return instance


def _tensors(
    arguments: Sequence[Argument], specs: Sequence[Sequence[TensorSpec]]
) -> tuple[ctypes.Array[abi.Tensor], int]:
    flat = [
        _tensor(argument.name, index, spec)
        for argument, tensors in zip(arguments, specs, strict=False)
        for index, spec in enumerate(tensors)
    ]
    return (abi.Tensor * max(1, len(flat)))(*flat), len(flat)


def _tensor(argument: str, index: int, spec: TensorSpec) -> abi.Tensor:
    tensor = abi.Tensor(argument=argument.encode(), index=index, ndim=-1)
    if spec.dtype is not None:
        tensor.dtype = dtypes.number_of(spec.dtype)
    if spec.shape is not None:
        if len(spec.shape) > abi.MAX_NDIM:
            raise CallError(f"'{argument}' has {len(spec.shape)} axes; the most that an op can take are {abi.MAX_NDIM}")
        tensor.ndim = len(spec.shape)
        tensor.dims[: len(spec.shape)] = spec.shape
    return tensor


def read_tensors(arguments: Iterable[Argument], tensors: Sequence[abi.Tensor]) -> list[list[TensorSpec]]:
    """What `tensors` hold, per argument."""
    found: dict[str, list[TensorSpec]] = {argument.name: [] for argument in arguments}
    for tensor in tensors:
        shape = tuple(tensor.dims[: tensor.ndim]) if tensor.ndim >= 0 else None
        dtype = dtypes.from_number(tensor.dtype) if tensor.dtype else None
        found[tensor.argument.decode()].append(TensorSpec(shape, dtype))
    return list(found.values())


def arguments_of(arguments: Iterable[Argument], spec: TensorSpec = UNKNOWN) -> list[list[TensorSpec]]:
    """`spec` for every tensor that `arguments` stand for when all are given, variadic ones with their least number."""
    return [[spec] * argument.count for argument in arguments]


def new_outputs(op: Declaration, inferred: Sequence[Sequence[TensorSpec]]) -> list[list[np.ndarray]]:
    """New arrays for what `OpDef.infer` has returned, with elements that are not set.

    Raises
    ------
    CallError
        There is no memory for one.
    """
    return [[_new(op, output, spec) for spec in specs] for output, specs in zip(op.outputs, inferred)]


def _new(op: Declaration, output: Argument, spec: TensorSpec) -> np.ndarray:
    assert spec.shape is not None, "inference from known shapes gives known shapes"
    try:
        return np.empty(spec.shape, spec.dtype)
    except (MemoryError, ValueError) as error:
        raise CallError(
            f"op {op.name!r}: {op.file}:{op.line} infers {spec.shape} for its output '{output.name}': {error}"
        ) from error
