"""An op as PyTorch's schema language has it, and what a call of it takes and returns."""

from __future__ import annotations

import keyword
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pykernels.base import dtypes
from pykernels.base.abi import AttrType
from pykernels.base.errors import CallError
from pykernels.define.declared import Argument, Attribute
from pykernels.define.definition import OpDef

__all__ = ["Call", "Layout", "numpy_dtype", "torch_dtype"]

#: The argument by which a call says whether it is one of a training pass, in ops whose kernels ask.
IS_TRAIN = "is_train"

_TYPES = {
    AttrType.INT32: "int",
    AttrType.INT64: "int",
    AttrType.BOOL: "bool",
    AttrType.FLOAT: "float",
    AttrType.DOUBLE: "float",
    AttrType.STRING: "str",
    AttrType.SHAPE: "int[]",
    AttrType.DTYPE: "ScalarType",
    AttrType.LIST_INT32: "int[]",
    AttrType.LIST_INT64: "int[]",
    AttrType.LIST_FLOAT: "float[]",
    AttrType.LIST_DTYPE: "ScalarType[]",
    AttrType.LIST_SHAPE: "int[][]",
    AttrType.LIST_STRING: "str[]",
}
_HIDDEN = "device_sub_tag"  # OneFlow's name for what chooses among kernels of one device
_DTYPES = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128"
_NUMPY = {getattr(torch, name): np.dtype(name) for name in _DTYPES.split()}
_TORCH = {ours: dtype for dtype, ours in _NUMPY.items()}


def numpy_dtype(dtype: Any) -> np.dtype | None:
    """NumPy's dtype for PyTorch's, or None if it has none."""
    return _NUMPY.get(dtype)


def torch_dtype(dtype: np.dtype) -> Any:
    """PyTorch's dtype for NumPy's."""
    return _TORCH[dtype]


@dataclass(frozen=True)
class Call:
    """What a call of an op is given: tensors for each input, all attributes, a number of tensors for each output."""

    inputs: list[list[Any]]
    attributes: dict[str, Any]
    counts: list[int]
    is_train: bool

    @property
    def tensors(self) -> list[Any]:
        """The tensors of all inputs."""
        return [tensor for group in self.inputs for tensor in group]


class Layout:
    """How calls of an op look.

    They give its inputs, its attributes, how many tensors each output stands for that may have more or fewer, and
    whether this is a training pass, for a kernel that asks. `registry/torch/layout.h` reads that order from the stack.

    Attributes
    ----------
    op : OpDef
    takes_is_train : bool
    schema : str
        The schema without the name of the op: ``(Tensor x, float alpha=0.01) -> Tensor``.
    names : tuple of str
        Of the arguments.
    """

    def __init__(self, op: OpDef, *, takes_is_train: bool) -> None:
        self.op = op
        self.takes_is_train = takes_is_train
        self._attributes = [a for a in op.attributes if a.name != _HIDDEN]
        self._counted = [a for a in op.outputs if a.variadic or a.optional]
        fields = [*_inputs(op.inputs), *map(_attribute, self._attributes)]
        fields += [_Field("int", f"{a.name}_count", str(0 if a.optional else a.count), True) for a in self._counted]
        fields += [_Field("bool", IS_TRAIN, "False", True)] * takes_is_train
        self.names = tuple(field.name for field in fields)
        results = ["Tensor[]" if a.repeated or a.optional else "Tensor" for a in op.outputs]
        self.schema = f"({_join(fields)}) -> {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"

    def read(self, values: Mapping[str, Any]) -> Call:
        """The call that is given these values by name; what is left out has its default.

        Raises
        ------
        CallError
            A value is not what the definition declares.
        """
        inputs = [_tensors(values.get(_safe(a.name))) for a in self.op.inputs]
        named = {attribute.name: (attribute.type, values.get(_safe(attribute.name))) for attribute in self._attributes}
        given = {name: _ours(type_, value) for name, (type_, value) in named.items() if value is not None}
        counts = [
            values.get(f"{a.name}_count", 0 if a.optional else a.count) if a in self._counted else a.count
            for a in self.op.outputs
        ]
        return Call(inputs, self.op.parse_attributes(given), counts, bool(values.get(IS_TRAIN, False)))

    def write(
        self, inputs: Sequence[Sequence[Any]], attributes: Mapping[str, Any], counts: Sequence[int], is_train: bool
    ) -> dict[str, Any]:
        """Values by name, as `read` takes them."""
        values: dict[str, Any] = {}
        for argument, tensors in zip(self.op.inputs, inputs):
            given = list(tensors)
            values[_safe(argument.name)] = given if argument.repeated else given[0] if given else None
        for attribute in self._attributes:
            values[_safe(attribute.name)] = _theirs(attribute.type, attributes[attribute.name])
        by_name = {a.name: count for a, count in zip(self.op.outputs, counts)}
        values |= {f"{a.name}_count": by_name[a.name] for a in self._counted}
        return values | ({IS_TRAIN: is_train} if self.takes_is_train else {})

    def pack(self, tensors: Sequence[Any], counts: Sequence[int]) -> Any:
        """What a call returns that computes `tensors`."""
        rest = iter(tensors)
        results = []
        for argument, count in zip(self.op.outputs, counts):
            group = [next(rest) for _ in range(count)]
            results.append(group if argument.repeated or argument.optional else group[0])
        return results[0] if len(results) == 1 else tuple(results)

    def unpack(self, result: Any) -> list[Any]:
        """The tensors that a call has returned."""
        results = result if len(self.op.outputs) != 1 else (result,)
        return [tensor for group in results for tensor in _tensors(group)]


@dataclass(frozen=True)
class _Field:
    """An argument of a schema."""

    type: str
    name: str
    default: str | None = None
    keyword_only: bool = False


def _join(fields: Sequence[_Field]) -> str:
    """The arguments of a schema; what has no default may follow what has one by name only."""
    written: list[str] = []
    optional_seen = keyword_only = False
    for field in fields:
        if not keyword_only and (field.keyword_only or (optional_seen and field.default is None)):
            keyword_only = True
            written.append("*")
        optional_seen = optional_seen or field.default is not None
        default = "" if field.default is None else f"={field.default}"
        written.append(f"{field.type} {field.name}{default}")
    return ", ".join(written)


def _inputs(arguments: Sequence[Argument]) -> list[_Field]:
    fields = []
    for at, argument in enumerate(arguments):
        kind = f"Tensor({chr(ord('a') + at)}!)" if argument.mutable else "Tensor"
        kind += "[]" if argument.repeated else "?" if argument.optional else ""
        # Tensors are given by position, so an optional one can be left out only if none follows that is not.
        may_go = argument.optional and all(a.optional for a in arguments[at:])
        fields.append(_Field(kind, _safe(argument.name), ("[]" if argument.repeated else "None") if may_go else None))
    return fields


def _attribute(attribute: Attribute) -> _Field:
    name = _safe(attribute.name)
    if attribute.required:
        return _Field(_TYPES[attribute.type], name)
    default = _default(attribute)
    if default is None:
        # The schema language has no words for some values: None stands for the definition's default.
        return _Field(f"{_TYPES[attribute.type]}?", name, "None")
    return _Field(_TYPES[attribute.type], name, default)


def _default(attribute: Attribute) -> str | None:
    value = attribute.default
    if attribute.type in (AttrType.FLOAT, AttrType.DOUBLE):
        return repr(value) if math.isfinite(value) else None
    if attribute.type is AttrType.STRING:
        return f'"{value}"' if value.isprintable() and not set(value) & set('"\\') else None
    if attribute.type in (AttrType.INT32, AttrType.INT64, AttrType.BOOL):
        return repr(value)
    return str(list(value)) if attribute.type in (AttrType.SHAPE, AttrType.LIST_INT32, AttrType.LIST_INT64) else None


def _safe(name: str) -> str:
    """A name that the schema language, which is Python's, does not keep for itself."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _tensors(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def _ours(type_: AttrType, value: Any) -> Any:
    """An attribute out of a schema's value: dtypes are NumPy's."""
    if type_ is AttrType.DTYPE:
        # In some places schemas have numbers for dtypes.
        dtype = value if isinstance(value, torch.dtype) else torch.ops.aten.empty([0], dtype=value).dtype
        if numpy_dtype(dtype) is None:
            raise CallError(f"{dtype} is no dtype that ops know")
        return numpy_dtype(dtype)
    if type_ is AttrType.LIST_DTYPE:
        return [_ours(AttrType.DTYPE, each) for each in value]
    return value


def _theirs(type_: AttrType, value: Any) -> Any:
    """The opposite, from the form of `pykernels.base.attributes`."""
    if type_ is AttrType.DTYPE:
        return torch_dtype(dtypes.from_number(value))
    if type_ is AttrType.LIST_DTYPE:
        return [_theirs(AttrType.DTYPE, each) for each in value]
    return [list(each) for each in value] if type_ is AttrType.LIST_SHAPE else value
