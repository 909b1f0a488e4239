"""The declarations of ops: inputs, outputs and attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pykernels.base import abi
from pykernels.base.attributes import format_value, parse_value, type_name
from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType

# The maximum number of characters of a wrong value in a message.
_MAX_SHOWN = 100


#: The default of an attribute that has none.
REQUIRED: Any = object()


@dataclass(frozen=True)
class Argument:
    """The declaration of an input or output."""

    name: str
    #: The number of its tensors; the minimum if `variadic`.
    count: int = 1
    #: Whether it may have more than `count` tensors.
    variadic: bool = False
    #: Whether it may be left out.
    optional: bool = False
    #: Whether the kernel changes it in place; it is then an auxiliary state and has no gradient.
    mutable: bool = False

    @property
    def repeated(self) -> bool:
        """Whether it can have several tensors, which kernels receive as a tuple."""
        return self.variadic or self.count > 1

    def accepts(self, count: int) -> bool:
        """Return whether it can have `count` tensors."""
        return count == self.count or (self.variadic and count > self.count) or (self.optional and count == 0)

    def __str__(self) -> str:
        repeat = f"[{self.count}{'+' if self.variadic else ''}]" if self.repeated else ""
        return f"{self.name}{repeat}{'?' if self.optional else ''}{'!' if self.mutable else ''}"


@dataclass(frozen=True)
class Attribute:
    """The declaration of an attribute; `default` is `REQUIRED` if it has none."""

    name: str
    type: abi.AttrType
    default: Any = REQUIRED

    @property
    def required(self) -> bool:
        """Whether every call must give it."""
        return self.default is REQUIRED

    def __str__(self) -> str:
        default = "" if self.required else f" = {format_value(self.type, self.default)}"
        return f"{self.name}: {type_name(self.type)}{default}"


@dataclass(frozen=True, eq=False, repr=False)
class Declaration:
    """The declaration of an op type."""

    #: The op type name, such as ``relu_forward``.
    name: str
    #: The place where it is registered.
    file: str
    line: int
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    attributes: tuple[Attribute, ...]

    def schema(self) -> str:
        """Return the signature of the op, such as ``leaky_relu_forward(x, *, alpha: float = 0.01) -> y``."""
        inputs = [str(argument) for argument in self.inputs]
        attributes = [str(attribute) for attribute in self.attributes if attribute.name != "device_sub_tag"]
        outputs = ", ".join(str(argument) for argument in self.outputs)
        result = outputs if len(self.outputs) == 1 else f"({outputs})"
        return f"{self.name}({', '.join([*inputs, *(['*'] if attributes else []), *attributes])}) -> {result}"

    def parse_attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of every attribute, converted to its type, with defaults filled in.

        Parameters
        ----------
        given : mapping
            Values by name; strings are parsed according to the declared types.

        Raises
        ------
        CallError
            An attribute is unknown, missing or malformed.
        """
        known = {attribute.name: attribute for attribute in self.attributes}
        for name in given:
            if name not in known:
                import difflib  # imported here because few calls need it

                close = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean '{close[0]}'?" if close else f"; it has: {', '.join(known) or 'none'}"
                raise WrongType(f"op {self.name} has no attribute '{name}'{hint}")
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


def _shown(value: object) -> str:
    """Return the repr of a value, shortened to one line for a message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
