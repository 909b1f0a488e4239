"""Read a ``pk_definition`` into `OpDef` objects, and reject invalid ones."""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

from pykernels.base import abi
from pykernels.base.attributes import sample_value
from pykernels.base.errors import DefinitionError, PykernelsWarning
from pykernels.define.declared import REQUIRED, Argument, Attribute
from pykernels.define.definition import NOT_KNOWN_YET, Definition, OpDef
from pykernels.define.instance import arguments_of


def read_definition(path: Path, address: int, keep: Any) -> Definition:
    """Read the ``pk_definition`` at `address`, and keep `keep` alive as long as the definition is used.

    This raises `DefinitionError` if it is invalid; the message names file, line, op and argument. It warns if a
    gradient uses the name of an argument that the op does not declare, and was read by position.
    """
    definition = Definition(path, address, keep)
    raw = definition.functions
    if raw.abi != abi.DEFINITION_ABI:
        raise DefinitionError(
            f"{path}: built for version {raw.abi} of the definition ABI, but this is version {abi.DEFINITION_ABI}"
        )
    gradients = _gradients(definition)
    for index in range(raw.n_ops):
        op = _read_op(raw.ops[index], index, gradients, definition)
        if op.name in definition.ops:
            raise DefinitionError(f"{op.file}:{op.line}: op {op.name} is registered twice; keep one")
        definition.ops[op.name] = op
    if not definition.ops:
        raise DefinitionError(
            f'{path} registers no op: include "oneflow/core/framework/framework.h", and register one with '
            "REGISTER_USER_OP"
        )
    _check_gradients(raw, definition)
    return definition


def _gradients(definition: Definition) -> dict[str, int]:
    raw, gradients = definition.functions, dict[str, int]()
    for index in range(raw.n_gradients):
        gradient = raw.gradients[index]
        name = gradient.op.decode()
        if name in gradients:
            at = _at(definition, gradient)
            raise DefinitionError(f"{at}: the gradient of op {name} is registered twice; keep one")
        gradients[name] = index
    return gradients


def _read_op(raw: abi.Op, index: int, gradients: dict[str, int], definition: Definition) -> OpDef:
    op = OpDef(
        name=raw.name.decode(),
        file=definition.file_of(raw),
        line=raw.line,
        inputs=_read_arguments(raw.inputs, raw.n_inputs),
        outputs=_read_arguments(raw.outputs, raw.n_outputs),
        attributes=tuple(map(_read_attribute, raw.attributes[: raw.n_attributes])),
        flags=abi.OpFlag(raw.flags),
        index=index,
        gradient=gradients.get(raw.name.decode()),
        definition=definition,
    )
    if not op.outputs and not any(argument.mutable for argument in op.inputs):
        raise DefinitionError(
            f"{_at(definition, raw)}: op {op.name} has no output; give it one with .Output(name), or an input that the "
            "kernel writes into, which SetInputArgModifyFn declares"
        )
    for state, following in pairwise(op.inputs):
        if state.mutable and not following.mutable:
            raise DefinitionError(
                f"{_at(definition, raw)}: op {op.name} changes its input '{state.name}' in place, so "
                f"'{following.name}' must come before it: inputs that the kernel changes must come last"
            )
    if op.outputs and abi.OpFlag.INFERS_SHAPE not in op.flags:
        raise DefinitionError(
            f"{_at(definition, raw)}: op {op.name} has no function that infers the shapes of its outputs "
            f"({', '.join(argument.name for argument in op.outputs)}); give it one with SetTensorDescInferFn or "
            "SetLogicalTensorDescInferFn"
        )
    return op


def _read_arguments(raw: Any, count: int) -> tuple[Argument, ...]:
    return tuple(
        Argument(each.name.decode(), each.count, bool(each.variadic), bool(each.optional), bool(each.is_mutable))
        for each in raw[:count]
    )


def _read_attribute(raw: abi.Attribute) -> Attribute:
    default = abi.decode_attr(raw.initial) if raw.has_default else REQUIRED
    return Attribute(raw.initial.name.decode(), abi.AttrType(raw.initial.type), default)


def _check_gradients(raw: abi.Definition, definition: Definition) -> None:
    for index in range(raw.n_gradients):
        gradient = raw.gradients[index]
        name = gradient.op.decode()
        op = definition.ops.get(name)
        if op is None:
            raise DefinitionError(
                f"{_at(definition, gradient)}: the gradient is for op {name}, which this file does not register; "
                f"it registers: {', '.join(definition.ops)}"
            )
        if not op.outputs:
            raise DefinitionError(
                f"{_at(definition, gradient)}: a gradient is registered for op {name}, which has no output that could "
                "have one"
            )
        if abi.OpFlag.NO_GRADIENT in op.flags:
            raise DefinitionError(
                f"{_at(definition, gradient)}: op {name} is declared to have no gradient, but a gradient is "
                "registered for it"
            )
        _try_gradient(op, gradient)


def _try_gradient(op: OpDef, gradient: abi.Gradient) -> None:
    """Plan the gradient once before shapes are known, so that errors in it are reported when it is loaded.

    A plan that depends on shapes, or on the value of a required attribute, may fail here; it is checked on use.
    """
    attributes = {a.name: sample_value(a.type) if a.required else a.default for a in op.attributes}
    try:
        plan = op.plan_gradient(arguments_of(op.inputs), attributes)
    except DefinitionError as error:
        if NOT_KNOWN_YET in str(error) or any(attribute.required for attribute in op.attributes):
            return
        raise
    if plan.notes:
        warnings.warn(
            f"{_at(op.definition, gradient)}: {'; '.join(plan.notes)}. The gradient was read by position, because the "
            "op has one input and one output",
            PykernelsWarning,
            stacklevel=2,
        )


def _at(definition: Definition, registered: abi.Op | abi.Gradient) -> str:
    return f"{definition.file_of(registered)}:{registered.line}"
