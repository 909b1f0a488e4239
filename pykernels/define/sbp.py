"""How a tensor is distributed over devices, in OneFlow's terms: split, broadcast or partial sum."""

from __future__ import annotations

from dataclasses import dataclass

from pykernels.base import abi

__all__ = ["Broadcast", "PartialSum", "Sbp", "SbpRecorder", "Split"]


@dataclass(frozen=True)
class Split:
    """Every device holds a part of the tensor, cut along `axis`."""

    axis: int


@dataclass(frozen=True)
class Broadcast:
    """Every device holds the whole tensor."""


@dataclass(frozen=True)
class PartialSum:
    """The tensor is the sum of what the devices hold."""


Sbp = Split | Broadcast | PartialSum


class SbpRecorder:
    """Writes down what an SBP function tells its `sink`."""

    def __init__(self) -> None:
        self.signatures: list[dict[tuple[str, int], Sbp]] = []
        self.sink = abi.SbpSink(self._add)

    def _add(self, _: int, signature: int, argument: bytes, index: int, kind: int, axis: int) -> None:
        while len(self.signatures) <= signature:
            self.signatures.append({})
        sbp: Sbp = Split(axis) if kind == ord("S") else Broadcast() if kind == ord("B") else PartialSum()
        self.signatures[signature][argument.decode(), index] = sbp
