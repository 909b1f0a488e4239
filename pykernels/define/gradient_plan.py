"""Gradient plans, made by the gradient functions of definitions, and their interpreter in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pykernels.base import abi
from pykernels.define.declared import Argument, Declaration

_T = TypeVar("_T")
_Op = TypeVar("_Op", bound=Declaration)

_FUNCTIONS: dict[str, Any] = {field[0]: field[1] for field in abi.PlanSink._fields_}


@dataclass(frozen=True)
class PlanOp:
    """An op of a gradient plan: `inputs` are (argument, blob), `outputs` are (argument, count)."""

    name: str
    type: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, int], ...]
    attributes: dict[str, Any]


@dataclass(frozen=True)
class GradientPlan:
    """A plan to compute the gradients of an op's inputs.

    Notes
    -----
    Blobs are named ``I/<input>/<index>``, ``O/<output>/<index>`` (of the forward op), ``D/<output>/<index>``
    (gradient of a forward output) and ``<op name>/<output>_<index>`` (of an op of the plan).
    """

    #: In an order in which they can run.
    ops: tuple[PlanOp, ...]
    #: The blob that is the gradient of each forward input (argument, index); inputs that are not in it have none.
    bindings: dict[tuple[str, int], str]
    #: Assumptions made in reading the definition.
    notes: tuple[str, ...] = ()

    def reads(self) -> set[str]:
        """Return the blobs that the ops and the bindings read."""
        return {blob for op in self.ops for _, blob in op.inputs}.union(self.bindings.values())

    def run(
        self,
        forward: Callable[[str], _T],
        find: Callable[[str], _Op],
        call: Callable[[_Op, list[list[_T]], Mapping[str, Any], list[int]], Sequence[_T]],
    ) -> dict[tuple[str, int], _T]:
        """Run the plan on tensors of any kind.

        Parameters
        ----------
        forward : callable
            Takes a blob of the forward pass, such as ``I/x/0``, and returns its tensor.
        find : callable
            Takes an op type and returns its op.
        call : callable
            Calls an op. Takes the op, the tensors of every input argument, every attribute, and the number of tensors
            of each output argument. Returns the tensors of all outputs in one flat sequence.

        Returns
        -------
        dict
            The gradient of each forward input (argument, index) that has one.
        """
        computed: dict[str, _T] = {}

        def read(blob: str) -> _T:
            return computed[blob] if blob in computed else forward(blob)

        for planned in self.ops:
            op = find(planned.type)
            inputs = [[read(blob) for argument, blob in planned.inputs if argument == each.name] for each in op.inputs]
            wanted = dict(planned.outputs)
            counts = [wanted.get(each.name, 0 if each.optional else each.count) for each in op.outputs]
            results = iter(call(op, inputs, op.parse_attributes(planned.attributes), counts))
            for output, count in zip(op.outputs, counts):
                computed |= {f"{planned.name}/{output.name}_{i}": next(results) for i in range(count)}
        return {place: read(blob) for place, blob in self.bindings.items()}


def blobs(kind: str, arguments: Sequence[Argument], groups: Sequence[Sequence[_T]]) -> dict[str, _T]:
    """Return the tensors of all `arguments` by the names of their blobs; `kind` is ``I``, ``O`` or ``D``."""
    return {
        f"{kind}/{argument.name}/{i}": tensor
        for argument, group in zip(arguments, groups)
        for i, tensor in enumerate(group)
    }


class PlanRecorder:
    """Records the plan that a gradient function sends to `sink`."""

    def __init__(self) -> None:
        self._ops: list[PlanOp] = []
        self._inputs: list[tuple[str, str]] = []
        self._outputs: list[tuple[str, int]] = []
        self._bindings: dict[tuple[str, int], str] = {}
        self._notes: list[str] = []
        self.sink = abi.PlanSink()
        for name, function in {
            "op": self._op,
            "input": lambda _, argument, blob: self._inputs.append((argument.decode(), blob.decode())),
            "output": lambda _, argument, count: self._outputs.append((argument.decode(), count)),
            "attribute": self._attribute,
            "bind": self._bind,
            "note": lambda _, text: self._notes.append(text.decode()),
        }.items():
            setattr(self.sink, name, _FUNCTIONS[name](function))

    def _op(self, _: int, name: bytes, type_: bytes) -> None:
        self._finish()
        self._ops.append(PlanOp(name.decode(), type_.decode(), (), (), {}))

    def _attribute(self, _: int, attr: Any) -> None:
        self._ops[-1].attributes[attr.contents.name.decode()] = abi.decode_attr(attr.contents)

    def _bind(self, _: int, argument: bytes, index: int, blob: bytes) -> None:
        self._bindings[argument.decode(), index] = blob.decode()

    def _finish(self) -> None:
        """Give the last op the inputs and outputs received since it began."""
        if self._ops:
            self._ops[-1] = replace(self._ops[-1], inputs=tuple(self._inputs), outputs=tuple(self._outputs))
        self._inputs.clear()
        self._outputs.clear()

    def plan(self) -> GradientPlan:
        """Return the plan recorded so far."""
        self._finish()
        return GradientPlan(tuple(self._ops), self._bindings, tuple(self._notes))
