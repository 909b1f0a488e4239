"""Convert the inputs and attributes of nodes to and from those of their ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pykernels.base.abi import AttrType
from pykernels.base.attributes import format_value
from pykernels.base.errors import CallError
from pykernels.define.declared import Argument
from pykernels.define.definition import OpDef

if TYPE_CHECKING:
    import onnx

T = TypeVar("T")


def group(op: OpDef, arguments: Sequence[Argument], given: Sequence[T | None], what: str) -> list[list[T]]:
    """Group the inputs or outputs of a node by argument; in `given`, None stands for what is left out.

    Raises
    ------
    CallError
        There are too few or too many, or the grouping is ambiguous.
    """
    present = [value for value in given if value is not None]
    if any(argument.variadic for argument in arguments[:-1]):
        # A variadic argument precedes others, whose positions therefore depend on the total.
        fixed = sum(argument.count for argument in arguments if not argument.variadic)
        if sum(argument.variadic for argument in arguments) > 1 or any(a.optional for a in arguments):
            raise CallError(f"op {op.name}: its {what} can be read in several ways: {op.schema()}")
        counts = [len(present) - fixed if argument.variadic else argument.count for argument in arguments]
        places: list[T | None] = list(present)
    else:
        counts = [argument.count for argument in arguments]
        if arguments and arguments[-1].variadic:
            counts[-1] = max(0, len(given) - sum(counts[:-1]))
        places = list(given)
    if len(places) > sum(counts):
        raise CallError(f"op {op.name} has at most {sum(counts)} {what}, but {len(places)} are given: {op.schema()}")
    groups, at = [], 0
    for argument, count in zip(arguments, counts):
        groups.append([value for value in places[at : at + count] if value is not None])
        at += count
        if not argument.accepts(len(groups[-1])):
            raise CallError(
                f"op {op.name}: '{argument.name}' among its {what} cannot stand for {len(groups[-1])} tensors: "
                f"{op.schema()}"
            )
    return groups


def node_attributes(op: OpDef, node: onnx.NodeProto) -> dict[str, Any]:
    """Return all attributes of a node, as `OpDef.parse_attributes` returns them.

    Raises
    ------
    CallError
        An attribute is unknown, missing or malformed.
    """
    from onnx import helper

    types = {attribute.name: attribute.type for attribute in op.attributes}
    values = {}
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        values[attribute.name] = _plain(value, types.get(attribute.name))
    return op.parse_attributes(values)


def onnx_value(type_: AttrType, value: Any) -> Any:
    """Convert a value in the form of `pykernels.base.attributes` to the attribute of a node."""
    if type_ is AttrType.BOOL:
        return int(value)
    if type_ in (AttrType.SHAPE, AttrType.LIST_INT32, AttrType.LIST_INT64, AttrType.LIST_FLOAT) and value:
        return list(value)
    if isinstance(value, tuple) or type_ is AttrType.DTYPE:
        return format_value(type_, value)
    return value


def _plain(value: Any, type_: AttrType | None) -> Any:
    """Convert the value of an ONNX attribute to the type in the definition."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        # ONNX stores float32; through the shortest decimal, 0.1 stays 0.1.
        return float(str(np.float32(value)))
    if isinstance(value, int) and type_ in (AttrType.DTYPE, AttrType.LIST_DTYPE):
        return _dtype_name(value)
    if isinstance(value, (list, tuple)) or hasattr(value, "__iter__"):
        return [_plain(each, type_) for each in value]
    return value


def _dtype_name(number: int) -> str:
    from onnx import helper

    try:
        return str(helper.tensor_dtype_to_np_dtype(number))
    except KeyError:
        return f"ONNX's type {number}"
