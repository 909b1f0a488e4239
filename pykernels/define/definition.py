"""`OpDef`: what an op is. Every framework and every kernel reads ops through it, however they were defined."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykernels.base import abi, dtypes
from pykernels.base.attributes import parse_value, type_name
from pykernels.base.errors import CallError, DefinitionError
from pykernels.base.helptext import InstanceHelp
from pykernels.define.declared import Attribute, Declaration
from pykernels.define.gradient_plan import GradientPlan, PlanOp, PlanRecorder
from pykernels.define.instance import NO_TENSORS, TensorSpec, arguments_of, make_instance, read_tensors

if TYPE_CHECKING:
    from pykernels.define.sbp import Sbp

__all__ = ["NOT_KNOWN_YET", "Definition", "GradientPlan", "OpDef", "PlanOp", "TensorSpec"]

#: In the text of every error that says that shapes, or numbers of tensors, are needed first.
NOT_KNOWN_YET = "is not known yet"
#: What a function of a definition returns when the definition itself is wrong, rather than the use of the op.
_FAULT = 2
# How many characters of a wrong value messages show.
_MOST_SHOWN = 100


@dataclass(frozen=True, eq=False)
class Definition:
    """The ops that one definition file registers, and the address of the ``pk_definition`` that it built.

    `keep` is whatever must live as long: the shared object, or the callbacks of a Python definition.
    """

    path: Path
    address: int
    keep: Any = field(repr=False)
    ops: dict[str, OpDef] = field(default_factory=dict)

    @property
    def functions(self) -> abi.Definition:
        """The ``pk_definition`` itself."""
        return abi.Definition.from_address(self.address)

    def file_of(self, registered: abi.Op | abi.Gradient) -> str:
        """The file that an op or a gradient is registered in; definitions in C++ name it within their folder."""
        return str(self.path.parent / registered.file.decode())


@dataclass(frozen=True, eq=False, repr=False)
class OpDef(Declaration):
    """One op type.

    Attributes
    ----------
    flags : OpFlag
    index : int
        Its position in the definition.
    gradient : int or None
        The position of its gradient in the definition.
    definition : Definition
    """

    flags: abi.OpFlag
    index: int
    gradient: int | None
    definition: Definition = field(repr=False)

    def __repr__(self) -> str:
        return f"OpDef({self.schema()!r})"

    def parse_attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The value of every attribute, typed and with defaults filled in.

        Parameters
        ----------
        given : mapping
            Values by name; strings are parsed by the type that the definition declares.

        Raises
        ------
        CallError
            An attribute is unknown, missing or malformed.
        """
        known = {attribute.name: attribute for attribute in self.attributes}
        for name in given:
            if name not in known:
                import difflib  # not above: few calls need it

                close = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean '{close[0]}'?" if close else f"; it has: {', '.join(known) or 'none'}"
                raise CallError(f"op {self.name} has no attribute '{name}'{hint}")
        return {name: self._parse_attribute(attribute, given) for name, attribute in known.items()}

    def _parse_attribute(self, attribute: Attribute, given: Mapping[str, Any]) -> Any:
        if attribute.name not in given:
            if attribute.required:
                raise CallError(
                    f"op {self.name} needs attribute '{attribute.name}' ({type_name(attribute.type)}): {self.schema()}"
                )
            return attribute.default
        value = given[attribute.name]
        try:
            return parse_value(attribute.type, value)
        except ValueError as error:
            raise CallError(
                f"attribute '{attribute.name}' of op {self.name} is of type {type_name(attribute.type)}, "
                f"which {_shown(value)} is not: {error}"
            ) from None

    def check_inputs(self, inputs: Sequence[Sequence[TensorSpec]]) -> None:
        """Raise `CallError` unless `inputs` has as many tensors for every argument as the op takes."""
        if len(inputs) != len(self.inputs):
            raise CallError(
                f"op {self.name} takes {len(self.inputs)} inputs, but {len(inputs)} were given: {self.schema()}"
            )
        for argument, tensors in zip(self.inputs, inputs, strict=True):
            if not argument.accepts(len(tensors)):
                least = f"{argument.count}{' or more' if argument.variadic else ''}"
                raise CallError(
                    f"input '{argument.name}' of op {self.name} takes {least} tensors, but {len(tensors)} were given"
                )

    def infer(
        self,
        inputs: Sequence[Sequence[TensorSpec]],
        attributes: Mapping[str, Any],
        *,
        counts: Sequence[int] | None = None,
    ) -> list[list[TensorSpec]]:
        """Shapes and dtypes of the outputs.

        Parameters
        ----------
        inputs : sequence of sequence of TensorSpec
            The tensors of every argument in the order of the definition; none for an optional one that is left out.
        attributes : mapping
            Every attribute, as `parse_attributes` returns them.
        counts : sequence of int, optional
            How many tensors every output stands for; by default the number that it declares.

        Returns
        -------
        list of list of TensorSpec
            Per output argument.

        Raises
        ------
        CallError
            The definition refuses these inputs or attributes; the text is the definition's own.
        DefinitionError
            The definition itself is wrong: it leaves a shape unset, say.
        """
        return self.complete(inputs, attributes, counts=counts)[1]

    def complete(
        self,
        inputs: Sequence[Sequence[TensorSpec]],
        attributes: Mapping[str, Any],
        *,
        counts: Sequence[int] | None = None,
    ) -> tuple[list[list[TensorSpec]], list[list[TensorSpec]]]:
        """The inputs, with what was unknown of them filled in where the definition can, and the outputs.

        Parameters, results and errors are those of `infer`.
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
                "which NumPy has no dtype for"
            ) from None

    def _output_specs(self, counts: Sequence[int] | None) -> list[list[TensorSpec]]:
        specs = arguments_of(self.outputs)
        if counts is None:
            return specs
        if len(counts) != len(self.outputs):
            raise CallError(f"op {self.name} has {len(self.outputs)} outputs, not {len(counts)}: {self.schema()}")
        for argument, count in zip(self.outputs, counts, strict=True):
            if not argument.accepts(count):
                raise CallError(f"output '{argument.name}' of op {self.name} cannot stand for {count} tensors")
        return [[TensorSpec(None, None)] * count for count in counts]

    def plan_gradient(
        self,
        inputs: Sequence[Sequence[TensorSpec]] | None,
        attributes: Mapping[str, Any],
        *,
        outputs: Sequence[Sequence[TensorSpec]] | None = None,
        name: str | None = None,
    ) -> GradientPlan:
        """How the gradients of the op's inputs are computed.

        Parameters
        ----------
        inputs : sequence of sequence of TensorSpec, or None
            The forward inputs, of known or unknown shape; None asks for the plan before anything is known of them.
        attributes : mapping
            Every attribute, as `parse_attributes` returns them.
        outputs : sequence of sequence of TensorSpec, optional
            The forward outputs, where they have been inferred.
        name : str, optional
            The name of this use of the op, with which the names of the plan's ops begin.

        Raises
        ------
        DefinitionError
            The op has no gradient, its gradient is wrong, or it depends on what is not known yet (`NOT_KNOWN_YET` is
            then in the text).
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
        status, told = _ask(functions.gradient, self.gradient, ctypes.byref(instance), ctypes.byref(recorder.sink))
        if status:
            at = functions.gradients[self.gradient]
            raise DefinitionError(f"{self.definition.file_of(at)}:{at.line}: the gradient of op {self.name}: {told}")
        return recorder.plan()

    def sbp(
        self, inputs: Sequence[Sequence[TensorSpec]], attributes: Mapping[str, Any]
    ) -> list[dict[tuple[str, int], Sbp]]:
        """The ways in which the op can be distributed, as its SBP function lists them.

        Returns
        -------
        list of dict
            Of each signature, how every tensor (argument, index) is distributed: `Split`, `Broadcast` or `PartialSum`.
            Empty if the op has no SBP function; that every tensor may be broadcast is not listed.

        Raises
        ------
        CallError, DefinitionError
            As in `infer`.
        """
        from pykernels.define.sbp import SbpRecorder  # not above: only programs on several devices need it

        self.check_inputs(inputs)
        instance = make_instance(self, inputs, arguments_of(self.outputs), attributes)
        recorder = SbpRecorder()
        self._call(self.definition.functions.sbp, self.index, ctypes.byref(instance), recorder.sink, None)
        return recorder.signatures

    def _call(self, function: Callable[..., int], *args: Any) -> None:
        status, told = _ask(function, *args)
        if status == _FAULT:
            path = self.definition.path
            is_placed = told.startswith(f"{path.name}:")  # of C++, with a line
            raise DefinitionError(f"{path.parent}/{told}" if is_placed else f"op {self.name}: {told}")
        if status:
            raise CallError(f"op {self.name}: {told}")


def _shown(value: object) -> str:
    """A value in a line of a message: arrays and the like would take many."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _ask(function: Callable[..., int], *args: Any) -> tuple[int, str]:
    """What a function of a definition returns, and what it tells."""
    error = ctypes.create_string_buffer(abi.ERROR_SIZE)
    return function(*args, ctypes.addressof(error), abi.ERROR_SIZE), error.value.decode(errors="replace")


OpDef.__doc__ = InstanceHelp(OpDef.__doc__, lambda op: f"{op.schema()}\n\nDefined in {op.file}:{op.line}.")  # type: ignore[assignment]
