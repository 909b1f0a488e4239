"""Forward-mode derivatives: the op of the same folder that computes the tangents of another op's outputs.

It goes by its name, ``mish_tangent`` for ``mish_forward``, and the names of its arguments say what they are: the inputs
and outputs of the other op, and ``tx`` for the tangent of ``x``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pykernels.base.errors import DefinitionError
from pykernels.define.definition import OpDef

_T = TypeVar("_T")
_FORWARD, _TANGENT, _PREFIX = "_forward", "_tangent", "t"


@dataclass(frozen=True)
class TangentPlan:
    """How the tangents of an op's outputs are computed: by the op `op`."""

    of: OpDef
    op: OpDef

    def inputs(self, inputs: Sequence[_T], outputs: Sequence[_T], tangents: Sequence[_T]) -> list[_T]:
        """Return what `op` takes, from the inputs of a call, its outputs, and the tangents of its inputs.

        This raises `DefinitionError` if it takes anything else.
        """
        given = {argument.name: value for argument, value in zip(self.of.inputs, inputs)}
        given |= {argument.name: value for argument, value in zip(self.of.outputs, outputs)}
        given |= {f"{_PREFIX}{argument.name}": value for argument, value in zip(self.of.inputs, tangents)}
        for argument in self.op.inputs:
            if argument.name not in given:
                raise self._wrong(f"takes '{argument.name}', which is no input, output or tangent of an input")
        return [given[argument.name] for argument in self.op.inputs]

    def outputs(self) -> list[int]:
        """Return the position of the output whose tangent it is, for each output of `op`.

        This raises `DefinitionError` if it is no tangent of an output.
        """
        names = [f"{_PREFIX}{argument.name}" for argument in self.of.outputs]
        for argument in self.op.outputs:
            if argument.name not in names:
                raise self._wrong(f"returns '{argument.name}', which is no tangent of an output")
        return [names.index(argument.name) for argument in self.op.outputs]

    def _wrong(self, problem: str) -> DefinitionError:
        return DefinitionError(f"{self.op.file}:{self.op.line}: op {self.op.name} {problem} of {self.of.name}")


def plan_tangent(op: OpDef) -> TangentPlan | None:
    """Return how the tangents of the op's outputs are computed; None if its folder has no op that does so."""
    found = op.definition.ops.get(f"{op.name.removesuffix(_FORWARD)}{_TANGENT}")
    return None if found is None else TangentPlan(op, found)
