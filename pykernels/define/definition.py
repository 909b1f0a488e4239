"""`OpDef`, the definition of an op. Frameworks and kernels read all ops through it, in C++ or in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pykernels.base import abi, dtypes
from pykernels.base.errors import CallError, DefinitionError
from pykernels.base.helptext import InstanceHelp
from pykernels.define.declared import Declaration
from pykernels.define.gradient_plan import GradientPlan, PlanRecorder
from pykernels.define.instance import NO_TENSORS, UNKNOWN, TensorSpec, arguments_of, make_instance, read_tensors

#: Part of the message of every error about shapes or numbers of tensors that have not been inferred yet.
NOT_KNOWN_YET = "is not known yet"
#: The return value of a definition's function if the definition itself is wrong, not the use of the op.
_FAULT = 2


class Sbp(NamedTuple):
    """How a tensor is distributed: ``S``, split along an axis; ``B``, a copy everywhere; ``P``, a term of a sum."""

    kind: str
    axis: int


@dataclass(frozen=True, eq=False)
class Definition:
    """The ops that one definition file registers, and the address of its ``pk_definition``.

    `keep` keeps alive what the address needs: the shared object, or the callbacks of a Python definition.
    """

    path: Path
    address: int
    keep: Any = field(repr=False)
    ops: dict[str, OpDef] = field(default_factory=dict)

    @property
    def functions(self) -> abi.Definition:
        """The ``pk_definition`` at the address."""
        return abi.Definition.from_address(self.address)

    def file_of(self, registered: abi.Op | abi.Gradient) -> str:
        """Return the file that registers an op or a gradient; C++ definitions give its path within their folder."""
        return str(self.path.parent / registered.file.decode())


@dataclass(frozen=True, eq=False, repr=False)
class OpDef(Declaration):
    """One op type."""

    flags: abi.OpFlag
    #: Its position in the definition.
    index: int
    #: The position of its gradient in the definition.
    gradient: int | None
    definition: Definition = field(repr=False)

    def __repr__(self) -> str:
        return f"OpDef({self.schema()!r})"

    def check_inputs(self, inputs: Sequence[Sequence[TensorSpec]]) -> None:
        """Raise `CallError` unless `inputs` has the right number of tensors for every argument."""
        if len(inputs) != len(self.inputs):
            raise CallError(
                f"op {self.name} takes {len(self.inputs)} inputs, but {len(inputs)} were given: {self.schema()}"
            )
        for argument, tensors in zip(self.inputs, inputs, strict=True):
            if not argument.accepts(len(tensors)):
                wanted = f"{argument.count}{' or more' if argument.variadic else ''}"
                raise CallError(
                    f"input '{argument.name}' of op {self.name} takes {wanted} tensors, but {len(tensors)} were given"
                )

    def infer(
        self,
        inputs: Sequence[Sequence[TensorSpec]],
        attributes: Mapping[str, Any],
        *,
        counts: Sequence[int] | None = None,
    ) -> list[list[TensorSpec]]:
        """Infer the shapes and dtypes of the outputs.

        Parameters
        ----------
        inputs : sequence of sequence of TensorSpec
            The tensors of every argument in the order of the definition; none for an optional one that is left out.
        attributes : mapping
            Every attribute, as `parse_attributes` returns them.
        counts : sequence of int, optional
            The number of tensors of every output; by default the declared number.

        Returns
        -------
        list of list of TensorSpec
            One list for each output argument.

        Raises
        ------
        CallError
            The definition rejects these inputs or attributes; the message comes from the definition.
        DefinitionError
            The definition itself is wrong. For example, it leaves a shape unset.
        """
        return self.complete(inputs, attributes, counts=counts)[1]

    def complete(
        self,
        inputs: Sequence[Sequence[TensorSpec]],
        attributes: Mapping[str, Any],
        *,
        counts: Sequence[int] | None = None,
    ) -> tuple[list[list[TensorSpec]], list[list[TensorSpec]]]:
        """Return the inputs, with unknown shapes and dtypes filled in where the definition can, and the outputs.

        Parameters and errors are those of `infer`.
        """
        self.check_inputs(inputs)
        instance = make_instance(self, inputs, self._output_specs(counts), attributes)
        self._call(self.definition.functions.infer, self.index, ctypes.byref(instance))
        try:
            return (
                read_tensors(self.inputs, instance.inputs[: instance.n_inputs]),
                read_tensors(self.outputs, instance.outputs[: instance.n_outputs]),
            )
        except KeyError as error:
            raise DefinitionError(
                f"{self.file}:{self.line}: op {self.name} infers {dtypes.dtype_name(error.args[0])}, "
                "for which NumPy has no dtype"
            ) from None

    def _output_specs(self, counts: Sequence[int] | None) -> list[list[TensorSpec]]:
        specs = arguments_of(self.outputs)
        if counts is None:
            return specs
        if len(counts) != len(self.outputs):
            raise CallError(f"op {self.name} has {len(self.outputs)} outputs, not {len(counts)}: {self.schema()}")
        for argument, count in zip(self.outputs, counts, strict=True):
            if not argument.accepts(count):
                raise CallError(f"output '{argument.name}' of op {self.name} cannot have {count} tensors")
        return [[UNKNOWN] * count for count in counts]

    def plan_gradient(
        self,
        inputs: Sequence[Sequence[TensorSpec]] | None,
        attributes: Mapping[str, Any],
        *,
        outputs: Sequence[Sequence[TensorSpec]] | None = None,
        name: str | None = None,
    ) -> GradientPlan:
        """Plan how to compute the gradients of the op's inputs.

        Parameters
        ----------
        inputs : sequence of sequence of TensorSpec, or None
            The forward inputs, of known or unknown shape; None if even the numbers of tensors are unknown.
        attributes : mapping
            Every attribute, as `parse_attributes` returns them.
        outputs : sequence of sequence of TensorSpec, optional
            The forward outputs, if they have been inferred.
        name : str, optional
            The name of this use of the op, which is the prefix of the names of the plan's ops.

        Raises
        ------
        DefinitionError
            The op has no gradient, its gradient is wrong, or the plan depends on something unknown (the message then
            contains `NOT_KNOWN_YET`).
        """
        if self.gradient is None:
            raise DefinitionError(f"{self.file}:{self.line}: op {self.name} has no gradient")
        functions = self.definition.functions
        given: Sequence[Sequence[TensorSpec]] = NO_TENSORS
        if inputs is not None:
            self.check_inputs(inputs)
            given, outputs = inputs, arguments_of(self.outputs) if outputs is None else outputs
        instance = make_instance(self, given, outputs or NO_TENSORS, attributes, name=name)
        recorder = PlanRecorder()
        status, message = _run(functions.gradient, self.gradient, ctypes.byref(instance), ctypes.byref(recorder.sink))
        if status:
            at = functions.gradients[self.gradient]
            raise DefinitionError(f"{self.definition.file_of(at)}:{at.line}: the gradient of op {self.name}: {message}")
        return recorder.plan()

    def list_sbp(
        self,
        inputs: Sequence[Sequence[TensorSpec]],
        outputs: Sequence[Sequence[TensorSpec]],
        attributes: Mapping[str, Any],
    ) -> list[dict[tuple[str, int], Sbp]]:
        """Return the signatures by which the op may be distributed: how, for each tensor (argument, index).

        Parameters are those of `infer`, and its result. There are none if the definition lists none.
        """
        if not self.flags & abi.OpFlag.HAS_SBP:
            return []
        signatures: dict[int, dict[tuple[str, int], Sbp]] = {}

        def receive(_: Any, signature: int, argument: bytes, index: int, kind: int, axis: int) -> None:
            signatures.setdefault(signature, {})[argument.decode(), index] = Sbp(chr(kind), axis)

        instance = make_instance(self, inputs, outputs, attributes)
        self._call(self.definition.functions.sbp, self.index, ctypes.byref(instance), abi.SbpSink(receive), None)
        return list(signatures.values())

    def _call(self, function: Callable[..., int], *args: Any) -> None:
        status, message = _run(function, *args)
        if status == _FAULT:
            path = self.definition.path
            has_place = message.startswith(f"{path.name}:")  # from C++, with a line
            raise DefinitionError(f"{path.parent}/{message}" if has_place else f"op {self.name}: {message}")
        if status:
            raise CallError(f"op {self.name}: {message}")

    def _help(self) -> str:
        return f"{self.schema()}\n\nDefined in {self.file}:{self.line}."


def _run(function: Callable[..., int], *args: Any) -> tuple[int, str]:
    """Call a function of a definition, and return its status and error message."""
    error = ctypes.create_string_buffer(abi.ERROR_SIZE)
    return function(*args, ctypes.addressof(error), abi.ERROR_SIZE), error.value.decode(errors="replace")


OpDef.__doc__ = InstanceHelp(OpDef.__doc__, OpDef._help)  # type: ignore[assignment]
