"""Implement ``python -m pykernels describe OP``."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pykernels.base import dtypes, paths
from pykernels.base.errors import CallError, DefinitionError, PykernelsError
from pykernels.define.definition import NOT_KNOWN_YET, OpDef
from pykernels.define.gradient_plan import GradientPlan
from pykernels.define.instance import TensorSpec, described, specs_of
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample, usual_sample
from pykernels.tools.commands import arguments
from pykernels.tools.commands.output import for_each

# Enough elements where sizes do not matter.
_ELEMENTS = 64


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("describe", help="describe ops", description=_run.__doc__)
    arguments.add_ops(parser, required=True)
    parser.add_argument("--quick", action="store_true", help="do not try the op in the installed frameworks")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Show the schema of an op, its shapes, dtypes and gradient, and the frameworks in which it works."""

    def describe(module: OpModule) -> None:
        print(f"{module.name}: {paths.shown(module.path)}")
        for heading, text in (*_parts(module), *_frameworks(module, options.quick)):
            print(f"    {heading:<12}{text.replace(f'{Path.cwd()}/', '')}")

    return for_each(arguments.find_modules(options.ops), describe)


def _frameworks(module: OpModule, is_quick: bool) -> Iterator[tuple[str, str]]:
    """Yield each framework with the result of trying the op in it."""
    from pykernels.tools.trial import try_everywhere

    heading = "frameworks"
    for each, trial in try_everywhere(module.path, is_quick=is_quick):
        if each.version is None:
            result = each.note
        elif trial is None:
            result = f"installed, {each.version}" + (f": {each.note}" if each.note else "")
        elif trial.error:
            result = f"no, with {each.version}: {trial.error}"
        else:
            result = "; ".join([f"yes, with {each.version}", *trial.warnings])
        yield heading, f"{each.title}: {result}"
        heading = ""


def _parts(module: OpModule) -> Iterator[tuple[str, str]]:
    """Yield the parts of an op's description, each with its heading; headings may repeat."""
    op = module.forward
    yield "schema", op.schema()
    try:
        given = usual_sample(module, _ELEMENTS)
    except CallError as error:
        yield "example", f"none: {error}"
        given = None
    if given is not None:
        specs = specs_of(given.inputs)
        results = op.infer(specs, given.attributes)
        yield "example", f"{described(op.inputs, specs)} -> {described(op.outputs, results)}"
        yield "dtypes", ", ".join(_accepted(module, given)) or "none"
    yield "computed by", f"{module.kernel(op.name).where}"
    yield from _gradient(module, op, given)
    for name in module.definition.ops:
        if name != op.name:
            yield "op type", module.definition.ops[name].schema()


def _accepted(module: OpModule, given: Sample) -> Iterator[str]:
    """Yield the dtypes of the first input that the op accepts, if the others have it, too, or keep their own."""
    for dtype in dtypes.known():
        for for_all in (True, False):
            specs = [
                [TensorSpec(array.shape, dtype if for_all or at == 0 else array.dtype) for array in group]
                for at, group in enumerate(given.inputs)
            ]
            with contextlib.suppress(PykernelsError):
                module.forward.infer(specs, given.attributes)
                yield str(dtype)
                break


def _gradient(module: OpModule, op: OpDef, given: Sample | None) -> Iterator[tuple[str, str]]:
    if op.gradient is None:
        yield "gradient", "none"
        return
    plan = _plan(op, given)
    if plan is None:
        yield "gradient", "depends on the shapes or attributes of the call"
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
    """Return the plan of the gradient without a call if possible, else for the example, if there is one."""
    try:
        return op.plan_gradient(None, op.parse_attributes({} if given is None else given.attributes))
    except CallError:
        return None
    except DefinitionError as error:
        if NOT_KNOWN_YET not in str(error) or given is None:
            return None
    specs = specs_of(given.inputs)
    with contextlib.suppress(PykernelsError):
        return op.plan_gradient(specs, given.attributes, outputs=op.infer(specs, given.attributes))
    return None


def _blob(blob: str) -> str:
    """Return a blob of a plan in words: ``x``, ``gradient of y``, ``output dx of the gradient``."""
    kind, _, rest = blob.partition("/")
    name, _, index = rest.partition("/")
    number = f"[{index}]" if index not in ("", "0") else ""
    if kind in ("I", "O"):
        return f"{name}{number}"
    if kind == "D":
        return f"gradient of {name}{number}"
    return f"output {rest.removesuffix('_0')}"
