"""Sketch a new op: its names and its kind."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pykernels.base import paths
from pykernels.base.abi import AttrType
from pykernels.base.attributes import parse_value, type_name
from pykernels.base.errors import CallError, LoadError
from pykernels.define.declared import Attribute

#: The kinds of ops, each with its default inputs and outputs.
KINDS = {
    "elementwise": (("x",), ("y",)),
    "reduction": (("x",), ("y",)),
    "loss": (("prediction", "target"), ("loss",)),
    "matmul": (("x", "weight"), ("y",)),
}
#: The possible types of attributes of new ops.
ATTRIBUTE_TYPES = {
    type_name(each): each
    for each in (AttrType.FLOAT, AttrType.DOUBLE, AttrType.INT32, AttrType.INT64, AttrType.BOOL, AttrType.STRING)
}
_ATTRIBUTE = re.compile(r"(?P<name>\w+)(?::(?P<type>\w+))?(?:=(?P<default>.*))?", re.S)
# The names that the written files use themselves: in functions, and in modules.
_TAKEN = frozenset({"args", "outs", "is_train", "np", "pykernels", "total", "gradient", "error", "self", "rng"})
_MODULES = frozenset({"np", "pykernels", "pytest", "opcheck", "Path"})


@dataclass(frozen=True)
class Sketch:
    """A new op."""

    name: str
    #: One of `KINDS`.
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[Attribute, ...]

    @property
    def factors(self) -> list[str]:
        """The attributes that the op multiplies its result by."""
        return [each.name for each in self.attributes if each.type not in (AttrType.BOOL, AttrType.STRING)]

    def call(self, function: str) -> str:
        """Return a statement that calls `function` with the required arguments."""
        given = [*self.inputs, *(each.name for each in self.attributes if each.required)]
        return f"{', '.join(self.outputs)} = {function}({', '.join(given)})"


def sketch(
    name: str,
    kind: str = "elementwise",
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    attributes: Sequence[Attribute] | None = None,
) -> Sketch:
    """Return a new op with defaults for missing parts; by default, an elementwise op has an attribute ``scale``.

    This raises `LoadError` if the op cannot have this name, and `CallError` if an input, output or attribute cannot
    have its name, or the kind is for other numbers of inputs or outputs.
    """
    _check_name(name)
    if attributes is None:
        attributes = [Attribute("scale", AttrType.DOUBLE, 1.0)] if kind == "elementwise" else []
    given = Sketch(name, kind, tuple(inputs or KINDS[kind][0]), tuple(outputs or KINDS[kind][1]), tuple(attributes))
    if kind in ("loss", "matmul"):
        for what, names, wanted in (("inputs", given.inputs, 2), ("outputs", given.outputs, 1)):
            if len(names) != wanted:
                raise CallError(f"--{what} {','.join(names)}: an op like {kind} has {wanted} {what}, not {len(names)}")
    _check_names(given)
    return given


def read_attribute(text: str) -> Attribute:
    """Read an attribute written as ``alpha:float=0.01``; by default the type is float, and the attribute is required.

    This raises `CallError` if the text has another form.
    """
    found = _ATTRIBUTE.fullmatch(text)
    if found is None:
        raise CallError(f"{text!r} is not an attribute; write it as alpha:float=0.01, or alpha:float without a default")
    given = {"int": "int64", "str": "string"}.get(found["type"], found["type"] or "float")
    if given not in ATTRIBUTE_TYPES:
        raise CallError(
            f"{text!r}: attribute type {given!r} is not one of those of new ops: {', '.join(ATTRIBUTE_TYPES)}"
        )
    type_ = ATTRIBUTE_TYPES[given]
    if found["default"] is None:
        return Attribute(found["name"], type_)
    try:
        default = parse_value(type_, found["default"])
    except ValueError as error:
        raise CallError(f"{text!r}: the default is not of type {given}: {error}") from None
    if default in (float("inf"), float("-inf")) or default != default:
        raise CallError(f"{text!r}: the default must be finite")
    return Attribute(found["name"], type_, default)


def _check_name(name: str) -> None:
    """Raise `LoadError` unless a new op can have this name."""
    if not (name.isidentifier() and name.isascii()):
        hint = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
        hint = hint if hint.isidentifier() and not keyword.iskeyword(hint) else "my_op"
        raise LoadError(
            f"{name!r} cannot be the name of an op: use letters, digits and underscores, beginning with "
            f"a letter (such as {hint!r})"
        )
    if keyword.iskeyword(name):
        raise LoadError(f"{name!r} cannot be the name of an op: it is a Python keyword (try '{name}_op')")
    if name in _MODULES:
        raise LoadError(f"{name!r} cannot be the name of an op: the written files use this name (try '{name}_op')")
    if (paths.OPS / name).exists():
        raise LoadError(f"pykernels ships an op {name!r} already; choose another name")


def _check_names(given: Sketch) -> None:
    gradients = [f"d{name}" for name in (*given.inputs, *given.outputs)]
    names = [*given.inputs, *given.outputs, *(each.name for each in given.attributes)]
    for name in names:
        if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name):
            raise CallError(f"{name!r} cannot name an input, output or attribute: it is not a Python identifier")
        if name in _TAKEN or name == given.name:
            raise CallError(f"{name!r} cannot name an input, output or attribute: the written files use this name")
    everything = [*names, *gradients]
    twice = next((name for name in everything if everything.count(name) > 1), None)
    if twice is not None:
        raise CallError(
            f"{twice!r} names two things: inputs, outputs, attributes and gradients (that of x is dx) share one set of "
            f"names"
        )
