"""Gradient plans: the ops that a definition's gradient function asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pykernels.base import abi

__all__ = ["GradientPlan", "PlanOp", "PlanRecorder"]

_FUNCTIONS: dict[str, Any] = {field[0]: field[1] for field in abi.PlanSink._fields_}


@dataclass(frozen=True)
class PlanOp:
    """An op of a gradient: `inputs` are (argument, blob), `outputs` are (argument, count)."""

    name: str
    type: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, int], ...]
    attributes: dict[str, Any]


@dataclass(frozen=True)
class GradientPlan:
    """How the gradients of an op's inputs are computed.

    Attributes
    ----------
    ops : tuple of PlanOp
        In an order in which they can run.
    bindings : dict
        The blob that is the gradient of each forward input (argument, index); inputs that are not in it have none.
    notes : tuple of str
        What was taken for granted in reading the definition.

    Notes
    -----
    Blobs are named ``I/<input>/<index>``, ``O/<output>/<index>`` (of the forward op), ``D/<output>/<index>``
    (gradient of a forward output) and ``<op name>/<output>_<index>`` (of an op of the plan).
    """

    ops: tuple[PlanOp, ...]
    bindings: dict[tuple[str, int], str]
    notes: tuple[str, ...] = ()


class PlanRecorder:
    """Writes down what a gradient tells its `sink`."""

    def __init__(self) -> None:
        self._ops: list[PlanOp] = []
        self._inputs: list[tuple[str, str]] = []
        self._outputs: list[tuple[str, int]] = []
        self._bindings: dict[tuple[str, int], str] = {}
        self._notes: list[str] = []
        self.sink = abi.PlanSink()
        for name, told in {
            "op": self._op,
            "input": lambda _, argument, blob: self._inputs.append((argument.decode(), blob.decode())),
            "output": lambda _, argument, count: self._outputs.append((argument.decode(), count)),
            "attribute": self._attribute,
            "bind": self._bind,
            "note": lambda _, text: self._notes.append(text.decode()),
        }.items():
            setattr(self.sink, name, _FUNCTIONS[name](told))

    def _op(self, _: int, name: bytes, type_: bytes) -> None:
        self._finish()
        self._ops.append(PlanOp(name.decode(), type_.decode(), (), (), {}))

    def _attribute(self, _: int, attr: Any) -> None:
        self._ops[-1].attributes[attr.contents.name.decode()] = abi.decode_attr(attr.contents)

    def _bind(self, _: int, argument: bytes, index: int, blob: bytes) -> None:
        self._bindings[argument.decode(), index] = blob.decode()

    def _finish(self) -> None:
        """Give the last op the inputs and outputs that were told since it began."""
        if self._ops:
            self._ops[-1] = replace(self._ops[-1], inputs=tuple(self._inputs), outputs=tuple(self._outputs))
        self._inputs.clear()
        self._outputs.clear()

    def plan(self) -> GradientPlan:
        """What has been told."""
        self._finish()
        return GradientPlan(tuple(self._ops), self._bindings, tuple(self._notes))
