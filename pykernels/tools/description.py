"""Describe an op to people: its inputs and outputs, shapes and dtypes, and gradient."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from pykernels.base.errors import CallError, DefinitionError, PykernelsError
from pykernels.define.declared import Argument
from pykernels.define.definition import NOT_KNOWN_YET, OpDef, TensorSpec
from pykernels.define.gradient_plan import GradientPlan
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample, sample

__all__ = ["describe"]

# Elements enough for what does not depend on sizes.
_ELEMENTS = 64
_DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64")


def describe(module: OpModule) -> Iterator[tuple[str, str]]:
    """What there is to say of an op, each with a heading; headings may come again.

    Raises
    ------
    PykernelsError
        Whatever is wrong with the folder.
    """
    op = module.forward
    yield "schema", op.schema()
    try:
        given = sample(module, _ELEMENTS, np.dtype(np.float32))
    except CallError as error:
        yield "example", f"none: {error}"
        given = None
    if given is not None:
        specs = [[TensorSpec(array.shape, array.dtype) for array in group] for group in given.inputs]
        results = op.infer(specs, given.attributes)
        yield "example", f"{_shown(op.inputs, specs)} -> {_shown(op.outputs, results)}"
        yield "dtypes", ", ".join(_accepted(module, given)) or "none of the usual ones"
    yield "computed by", f"{module.kernel(op.name).where}"
    yield from _gradient(module, op, given)
    for name in module.definition.ops:
        if name != op.name:
            yield "op type", module.definition.ops[name].schema()


def _shown(arguments: Sequence[Argument], groups: Sequence[Sequence[TensorSpec]]) -> str:
    return ", ".join(
        f"{argument.name} {spec.dtype}{list(spec.shape or ())}"
        for argument, group in zip(arguments, groups)
        for spec in group
    )


def _accepted(module: OpModule, given: Sample) -> Iterator[str]:
    """The dtypes that the first input can have, where the others have it, too, or what they have in the example."""
    for name in _DTYPES:
        dtype = np.dtype(name)
        for all_of_it in (True, False):
            specs = [
                [TensorSpec(array.shape, dtype if all_of_it or at == 0 else array.dtype) for array in group]
                for at, group in enumerate(given.inputs)
            ]
            with contextlib.suppress(PykernelsError):
                module.forward.infer(specs, given.attributes)
                yield name
                break


def _gradient(module: OpModule, op: OpDef, given: Sample | None) -> Iterator[tuple[str, str]]:
    if op.gradient is None:
        yield "gradient", "none"
        return
    plan = _plan(op, given)
    if plan is None:
        yield "gradient", "one that depends on the shapes or attributes of a call"
        return
    for each in plan.ops:
        inputs = ", ".join(f"{argument} = {_blob(blob)}" for argument, blob in each.inputs)
        yield "gradient", f"{each.type}({inputs}) -> {', '.join(argument for argument, _ in each.outputs)}"
        if each.type in module.definition.ops:
            yield "", f"computed by {module.kernel(each.type).where}"
    for (name, index), blob in plan.bindings.items():
        argument = next(argument for argument in op.inputs if argument.name == name)
        yield "", f"the gradient of {name}{f'[{index}]' if argument.repeated else ''} is {_blob(blob)}"
    without = [argument.name for argument in op.inputs if (argument.name, 0) not in plan.bindings]
    if without:
        yield "", f"no gradient: {', '.join(without)}"


def _plan(op: OpDef, given: Sample | None) -> GradientPlan | None:
    """The gradient without a call, else of the example, if there is one."""
    try:
        return op.plan_gradient(None, op.parse_attributes({} if given is None else given.attributes))
    except CallError:
        return None
    except DefinitionError as error:
        if NOT_KNOWN_YET not in str(error) or given is None:
            return None
    specs = [[TensorSpec(array.shape, array.dtype) for array in group] for group in given.inputs]
    with contextlib.suppress(PykernelsError):
        return op.plan_gradient(specs, given.attributes, outputs=op.infer(specs, given.attributes))
    return None


def _blob(blob: str) -> str:
    """A blob of a plan in words: ``x``, ``gradient of y``, ``output dx of the gradient``."""
    kind, _, rest = blob.partition("/")
    name, _, index = rest.partition("/")
    number = f"[{index}]" if index not in ("", "0") else ""
    if kind in ("I", "O"):
        return f"{name}{number}"
    if kind == "D":
        return f"gradient of {name}{number}"
    return f"output {rest.removesuffix('_0')}"
