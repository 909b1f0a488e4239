"""Convert one use of an op between Python and the C ABI's ``pk_instance``."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pykernels.base import abi, dtypes
from pykernels.base.errors import CallError
from pykernels.define.declared import Argument, Declaration

_T = TypeVar("_T")


class TensorSpec(NamedTuple):
    """The shape and dtype of a tensor; None if unknown."""

    shape: tuple[int, ...] | None
    dtype: np.dtype[Any] | None

    def __str__(self) -> str:
        return f"{self.dtype or 'unknown dtype'}{list(self.shape) if self.shape is not None else '[unknown shape]'}"


#: An unknown tensor.
UNKNOWN = TensorSpec(None, None)
#: The inputs of an op if even the numbers of tensors are unknown.
NO_TENSORS: tuple[tuple[TensorSpec, ...], ...] = ()


def make_instance(
    op: Declaration,
    inputs: Sequence[Sequence[TensorSpec]],
    outputs: Sequence[Sequence[TensorSpec]],
    attributes: Mapping[str, Any],
    *,
    name: str | None = None,
) -> abi.Instance:
    """Return an ``Instance`` of `op`, which keeps alive what it points to.

    `inputs` and `outputs` are the tensors of every argument in the order of the definition, none for an optional one
    that is left out; `NO_TENSORS` for an instance without tensors. `attributes` are all that the op declares.
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
            raise CallError(f"'{argument}' has {len(spec.shape)} axes; the maximum is {abi.MAX_NDIM}")
        tensor.ndim = len(spec.shape)
        tensor.dims[: len(spec.shape)] = spec.shape
    return tensor


def read_tensors(arguments: Iterable[Argument], tensors: Sequence[abi.Tensor]) -> list[list[TensorSpec]]:
    """Return the shapes and dtypes of `tensors`, grouped by argument."""
    specs: dict[str, list[TensorSpec]] = {argument.name: [] for argument in arguments}
    for tensor in tensors:
        specs[tensor.argument.decode()].append(read_tensor(tensor))
    return list(specs.values())


def read_tensor(tensor: abi.Tensor) -> TensorSpec:
    """Return the shape and dtype of `tensor`."""
    shape = tuple(tensor.dims[: tensor.ndim]) if tensor.ndim >= 0 else None
    return TensorSpec(shape, dtypes.from_number(tensor.dtype) if tensor.dtype else None)


def arguments_of(arguments: Iterable[Argument]) -> list[list[TensorSpec]]:
    """Return unknown tensors for `arguments`: optional ones present, variadic ones with their minimum number."""
    return [[UNKNOWN] * argument.count for argument in arguments]


def specs_of(groups: Iterable[Iterable[np.ndarray]]) -> list[list[TensorSpec]]:
    """Return the shapes and dtypes of the arrays of each argument."""
    return [[TensorSpec(array.shape, array.dtype) for array in group] for group in groups]


def grouped(flat: Iterable[_T], counts: Iterable[int]) -> list[list[_T]]:
    """Return tensors that are given one after the other as groups of these numbers, one for each argument."""
    rest = iter(flat)
    return [list(itertools.islice(rest, count)) for count in counts]


def places(arguments: Iterable[Argument], counts: Iterable[int]) -> list[tuple[str, int]]:
    """Return the (argument, index) of each tensor."""
    return [(argument.name, index) for argument, count in zip(arguments, counts) for index in range(count)]


def described(arguments: Iterable[Argument], groups: Iterable[Iterable[TensorSpec]]) -> str:
    """Return the names, dtypes and shapes of the tensors of each argument, for messages."""
    return ", ".join(f"{argument.name} {spec}" for argument, group in zip(arguments, groups) for spec in group)


def new_outputs(op: Declaration, inferred: Sequence[Sequence[TensorSpec]]) -> list[list[np.ndarray]]:
    """Return new, uninitialized arrays for the result of `OpDef.infer`; raise `CallError` if memory is full."""
    return [[_new(op, output, spec) for spec in specs] for output, specs in zip(op.outputs, inferred)]


def _new(op: Declaration, output: Argument, spec: TensorSpec) -> np.ndarray:
    assert spec.shape is not None, "inference from known shapes gives known shapes"
    try:
        return np.empty(spec.shape, spec.dtype)
    except (MemoryError, ValueError) as error:
        raise CallError(
            f"op {op.name!r}: {op.file}:{op.line} infers {spec.shape} for its output '{output.name}': {error}"
        ) from error
