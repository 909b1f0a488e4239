"""What ops declare: inputs, outputs and attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pykernels.base import abi
from pykernels.base.attributes import format_value, type_name

__all__ = ["REQUIRED", "Argument", "Attribute", "Declaration"]


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


#: The default of an attribute that has none.
REQUIRED: Any = _Required()


@dataclass(frozen=True)
class Argument:
    """An input or output as an op declares it.

    Attributes
    ----------
    name : str
    count : int
        How many tensors it stands for; the least number when `variadic`.
    variadic : bool
        Whether it takes more than `count`.
    optional : bool
        Whether it may be left out.
    mutable : bool
        Whether the kernel changes it in place: an auxiliary state, which has no gradient.
    """

    name: str
    count: int = 1
    variadic: bool = False
    optional: bool = False
    mutable: bool = False

    @property
    def repeated(self) -> bool:
        """Whether it stands for several tensors, so that kernels get a tuple."""
        return self.variadic or self.count > 1

    def accepts(self, count: int) -> bool:
        """Whether it can stand for `count` tensors."""
        return count == self.count or (self.variadic and count > self.count) or (self.optional and count == 0)

    def __str__(self) -> str:
        repeat = f"[{self.count}{'+' if self.variadic else ''}]" if self.repeated else ""
        return f"{self.name}{repeat}{'?' if self.optional else ''}{'!' if self.mutable else ''}"


@dataclass(frozen=True)
class Attribute:
    """An attribute as an op declares it; `default` is `REQUIRED` where there is none."""

    name: str
    type: abi.AttrType
    default: Any = REQUIRED

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    def __str__(self) -> str:
        default = "" if self.required else f" = {format_value(self.type, self.default)}"
        return f"{self.name}: {type_name(self.type)}{default}"


@dataclass(frozen=True, eq=False, repr=False)
class Declaration:
    """What an op type declares.

    Attributes
    ----------
    name : str
        The op type name, such as ``relu_forward``.
    file, line : str, int
        Where it is registered.
    inputs, outputs : tuple of Argument
    attributes : tuple of Attribute
    """

    name: str
    file: str
    line: int
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    attributes: tuple[Attribute, ...]

    def schema(self) -> str:
        """The signature of the op, such as ``leaky_relu_forward(x, *, alpha: float = 0.01) -> y``."""
        inputs = [str(argument) for argument in self.inputs]
        attributes = [str(attribute) for attribute in self.attributes if attribute.name != "device_sub_tag"]
        outputs = ", ".join(str(argument) for argument in self.outputs)
        result = outputs if len(self.outputs) == 1 else f"({outputs})"
        return f"{self.name}({', '.join([*inputs, *(['*'] if attributes else []), *attributes])}) -> {result}"
