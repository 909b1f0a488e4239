"""The ways to distribute an op over devices that its definition allows, in OneFlow's terms."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pykernels.base import abi
from pykernels.define.definition import OpDef
from pykernels.define.instance import TensorSpec, arguments_of, make_instance


@dataclass(frozen=True)
class Split:
    """Every device holds a part of the tensor, split along `axis`."""

    axis: int


@dataclass(frozen=True)
class Broadcast:
    """Every device holds the whole tensor."""


@dataclass(frozen=True)
class PartialSum:
    """The tensor is the sum of the tensors that the devices hold."""


Sbp = Split | Broadcast | PartialSum


def signatures(
    op: OpDef, inputs: Sequence[Sequence[TensorSpec]], attributes: Mapping[str, Any]
) -> list[dict[tuple[str, int], Sbp]]:
    """Return for each signature how every tensor (argument, index) is distributed.

    The signature that broadcasts every tensor is always valid and not listed. The list is empty if the op has no SBP
    function.
    """
    found: list[dict[tuple[str, int], Sbp]] = []

    def add(_: int, signature: int, argument: bytes, index: int, kind: int, axis: int) -> None:
        while len(found) <= signature:
            found.append({})
        sbp: Sbp = Split(axis) if kind == ord("S") else Broadcast() if kind == ord("B") else PartialSum()
        found[signature][argument.decode(), index] = sbp

    op.check_inputs(inputs)
    instance = make_instance(op, inputs, arguments_of(op.outputs), attributes)
    op._call(op.definition.functions.sbp, op.index, ctypes.byref(instance), abi.SbpSink(add), None)
    return found
