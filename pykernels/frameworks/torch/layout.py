"""Translate an op's definition to a PyTorch schema, and values between calls of the two."""

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

#: The argument that says whether a call is part of a training pass, for ops whose kernels take it.
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
_HIDDEN = "device_sub_tag"  # OneFlow's attribute for choosing among the kernels of a device
_NUMPY = {getattr(torch, str(dtype)): dtype for dtype in dtypes.known()}
_TORCH = {ours: dtype for dtype, ours in _NUMPY.items()}
#: The dtypes in which kernels do not compute, but in float32.
HALVES = (torch.float16, torch.bfloat16)


def numpy_dtype(dtype: Any) -> np.dtype | None:
    """Return NumPy's dtype for PyTorch's, or None if NumPy has none."""
    return _NUMPY.get(dtype)


def torch_dtype(dtype: np.dtype) -> Any:
    """Return PyTorch's dtype for NumPy's."""
    return _TORCH[dtype]


@dataclass(frozen=True)
class Call:
    """The arguments of a call: the tensors of each input, all attributes, the number of tensors of each output."""

    inputs: list[list[Any]]
    attributes: dict[str, Any]
    counts: list[int]
    is_train: bool

    @property
    def tensors(self) -> list[Any]:
        """The tensors of all inputs."""
        return [tensor for group in self.inputs for tensor in group]


class Layout:
    """The layout of an op's calls.

    A call takes the inputs, the attributes, the number of tensors of each output for which it varies, and whether this
    is a training pass if a kernel takes that. `registry/torch/layout.h` reads them from the stack in this order.

    Attributes
    ----------
    op : OpDef
    takes_is_train : bool
    schema : str
        The schema without the name of the op: ``(Tensor x, float alpha=0.01) -> Tensor``.
    names : tuple of str
        The names of the arguments.
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
        """Return the call with these values by name, and defaults for the others.

        Raises
        ------
        CallError
            A value does not fit the definition.
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
        """Return values by name, as for `read`."""
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
        """Return `tensors` in the form that a call returns."""
        rest = iter(tensors)
        results = []
        for argument, count in zip(self.op.outputs, counts):
            group = [next(rest) for _ in range(count)]
            results.append(group if argument.repeated or argument.optional else group[0])
        return results[0] if len(results) == 1 else tuple(results) or None

    def unpack(self, result: Any) -> list[Any]:
        """Return the tensors in the result of a call."""
        results = (result,) if len(self.op.outputs) == 1 else result or ()
        return [tensor for group in results for tensor in _tensors(group)]


@dataclass(frozen=True)
class _Field:
    """An argument of a schema."""

    type: str
    name: str
    default: str | None = None
    keyword_only: bool = False


def _join(fields: Sequence[_Field]) -> str:
    """Return the arguments of a schema; after one with a default, those without are keyword-only."""
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
        # Tensors are positional, so an optional one can be left out only if all that follow can.
        may_go = argument.optional and all(a.optional for a in arguments[at:])
        fields.append(_Field(kind, _safe(argument.name), ("[]" if argument.repeated else "None") if may_go else None))
    return fields


def _attribute(attribute: Attribute) -> _Field:
    name = _safe(attribute.name)
    if attribute.required:
        return _Field(_TYPES[attribute.type], name)
    default = _default(attribute)
    if default is None:
        # The schema language cannot express some values: None stands for the definition's default.
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
    """Return the name, changed if it is a keyword of Python and so of the schema language."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _tensors(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def _ours(type_: AttrType, value: Any) -> Any:
    """Convert a schema's value to an attribute, whose dtypes are NumPy's."""
    if type_ is AttrType.DTYPE:
        # Schemas sometimes have numbers for dtypes.
        dtype = value if isinstance(value, torch.dtype) else torch.ops.aten.empty([0], dtype=value).dtype
        if numpy_dtype(dtype) is None:
            raise CallError(f"{dtype} is not a dtype that ops know")
        return numpy_dtype(dtype)
    if type_ is AttrType.LIST_DTYPE:
        return [_ours(AttrType.DTYPE, each) for each in value]
    return value


def _theirs(type_: AttrType, value: Any) -> Any:
    """Convert an attribute in the form of `pykernels.base.attributes` to a schema's value."""
    if type_ is AttrType.DTYPE:
        return torch_dtype(dtypes.from_number(value))
    if type_ is AttrType.LIST_DTYPE:
        return [_theirs(AttrType.DTYPE, each) for each in value]
    return [list(each) for each in value] if type_ is AttrType.LIST_SHAPE else value
