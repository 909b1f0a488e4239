"""Sketch a new op: its names, the types of its tensors, and the text of its kernel."""

from __future__ import annotations

import contextlib
import keyword
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pykernels.adjoint.derivation import Derivative, derive_gradient
from pykernels.base import paths
from pykernels.base.abi import AttrType
from pykernels.base.attributes import parse_value, type_name
from pykernels.base.errors import CallError, KernelError, LoadError
from pykernels.define.declared import Attribute
from pykernels.tools.derive import TARGETS, depends_on, with_derivative
from pykernels.tools.new.axes import Tensor
from pykernels.tools.new.inference import Types, find_types
from pykernels.tools.new.source import Source, read_source
from pykernels.tools.new.templates import KINDS, template_text

#: The possible types of attributes of new ops.
ATTRIBUTE_TYPES = {
    type_name(each): each
    for each in (AttrType.FLOAT, AttrType.DOUBLE, AttrType.INT32, AttrType.INT64, AttrType.BOOL, AttrType.STRING)
}
_ATTRIBUTE = re.compile(r"(?P<name>\w+)(?::(?P<type>\w+))?(?:=(?P<default>.*))?", re.S)
# The names that the written files use themselves: in functions, and in modules.
_TAKEN = frozenset({"args", "outs", "is_train", "np", "pykernels", "total", "self", "rng"})
_MODULES = frozenset({"np", "pykernels", "pytest", "opcheck", "Path"})


@dataclass(frozen=True)
class Sketch:
    """A new op."""

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    attributes: tuple[Attribute, ...]
    #: Conditions on lengths.
    requires: tuple[str, ...]
    #: The axes along which the op may be split over devices.
    splits: tuple[str, ...]
    #: What the gradient is computed from, and of what it is: ``x, dy -> dx``; "" if there is none.
    gradient: str
    #: The text of the kernel file.
    kernel: str
    #: The docstring of the function, or "".
    text: str
    #: Shapes of the inputs that the function takes.
    shapes: tuple[tuple[int, ...], ...]

    def call(self, function: str) -> str:
        """Return a statement that calls `function` with the required arguments."""
        given = [each.name for each in self.inputs] + [each.name for each in self.attributes if each.required]
        return f"{', '.join(each.name for each in self.outputs)} = {function}({', '.join(given)})"


def sketch(
    name: str,
    kind: str = "elementwise",
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    attributes: Sequence[Attribute] | None = None,
    *,
    has_gradient: bool = True,
) -> Sketch:
    """Return a new op of a kind with defaults for missing parts; an elementwise op has an attribute ``scale``.

    This raises `LoadError` if the op cannot have this name, and `CallError` if an input, output or attribute cannot
    have its name, or the kind is for other numbers of inputs or outputs.
    """
    _check_name(name)
    if attributes is None:
        attributes = [Attribute("scale", AttrType.DOUBLE, 1.0)] if kind == "elementwise" else []
    given = tuple(inputs or KINDS[kind].inputs), tuple(outputs or KINDS[kind].outputs)
    if kind in ("loss", "matmul"):
        for what, names, wanted in (("inputs", given[0], 2), ("outputs", given[1], 1)):
            if len(names) != wanted:
                raise CallError(f"--{what} {','.join(names)}: an op like {kind} has {wanted} {what}, not {len(names)}")
    _check_names(name, *given, attributes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.py"
        path.write_text(template_text(name, kind, *given, attributes), encoding="utf-8")
        return _sketched(
            name, read_source(path, name, outputs=given[1], attributes=attributes), has_gradient=has_gradient
        )


def sketch_function(
    name: str,
    path: Path,
    outputs: Sequence[str] = (),
    attributes: Sequence[Attribute] = (),
    *,
    has_gradient: bool = True,
) -> Sketch:
    """Return a new op that computes the function of a file; see `read_source`.

    This raises what `sketch` and `read_source` raise, and `KernelError` if no gradient is derived of the function.
    """
    _check_name(name)
    source = read_source(path, name, outputs=outputs, attributes=attributes)
    _check_names(name, source.inputs, source.outputs, source.attributes)
    return _sketched(name, source, has_gradient=has_gradient)


def _sketched(name: str, source: Source, *, has_gradient: bool) -> Sketch:
    types = find_types(source)
    kernel, gradient = source.kernel, ""
    has_gradient = has_gradient and all(
        any(t.dtype == "floating" for t in each) for each in (types.inputs, types.outputs)
    )
    if has_gradient and source.backward:
        gradient = f"{', '.join(source.backward)} -> {', '.join(_slopes(source, types))}"
    elif has_gradient:
        types, derived = _derived(source, types)
        kernel, gradient = with_derivative(kernel, derived.written, TARGETS[False, False]), depends_on(derived)
    return Sketch(
        name,
        types.inputs,
        types.outputs,
        source.attributes,
        types.requires,
        types.splits,
        gradient,
        kernel,
        source.text,
        tuple(array.shape for array in types.calls[len(types.calls) // 3].arrays),
    )


def _derived(source: Source, types: Types) -> tuple[Types, Derivative]:
    """Return the gradient of a function, and its types: inputs have axes if the gradient needs them."""
    try:
        return types, derive_gradient(source.function, source.inputs, source.outputs, types.calls)
    except KernelError as error:
        if types.takes_numbers:
            with contextlib.suppress(CallError, KernelError):
                types = find_types(source, has_axes=True)
                return types, derive_gradient(source.function, source.inputs, source.outputs, types.calls)
        raise KernelError(
            f"{error.args[0]}. Write a function backward(args) beside it, or pass --no-grad for an op without one"
        ) from None


def _slopes(source: Source, types: Types) -> list[str]:
    floating = [f"d{each.name}" for each in types.inputs if each.dtype == "floating"]
    if len(floating) != source.gradients:
        raise CallError(
            f"{source.where}: backward returns {source.gradients} arrays, not one for each floating-point input: "
            f"{', '.join(floating)}"
        )
    return floating


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


def _check_names(op: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Sequence[Attribute]) -> None:
    gradients = [f"d{name}" for name in (*inputs, *outputs)]
    names = [*inputs, *outputs, *(each.name for each in attributes)]
    for name in names:
        if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name):
            raise CallError(f"{name!r} cannot name an input, output or attribute: it is not a Python identifier")
        if name in _TAKEN or name == op:
            raise CallError(f"{name!r} cannot name an input, output or attribute: the written files use this name")
    everything = [*names, *gradients]
    twice = next((name for name in everything if everything.count(name) > 1), None)
    if twice is not None:
        raise CallError(
            f"{twice!r} names two things: inputs, outputs, attributes and gradients (that of x is dx) share one set of "
            f"names"
        )
