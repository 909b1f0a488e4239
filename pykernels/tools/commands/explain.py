"""Implement ``python -m pykernels explain OP``."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

from pykernels.base import paths
from pykernels.base.errors import PykernelsWarning
from pykernels.base.frameworks import FRAMEWORKS
from pykernels.call.steps import Step, forward_step, gradient_steps
from pykernels.frameworks.installed import find_package
from pykernels.kernel.facts import ELEMENTWISE, FUSED, LOOPS, PYTHON, WHOLE_ARRAY, Facts
from pykernels.kernel.read.source import KernelFunction
from pykernels.load.module import OpModule
from pykernels.load.samples import sample
from pykernels.tools.commands import arguments
from pykernels.tools.commands.output import for_each

# More elements would need the same kernels.
_ELEMENTS = 64
_CPU = "cpu"
_MEANINGS = {
    ELEMENTWISE: "one pass over the elements, without temporary arrays",
    FUSED: "as few passes over the elements as the reductions need, block by block",
    LOOPS: "compiled by numba, with the loops as written",
    WHOLE_ARRAY: "compiled by numba, with temporary arrays, as in NumPy",
    PYTHON: "not compiled: it is slow and holds the GIL",
}


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("explain", help="show how kernels are compiled", description=_run.__doc__)
    arguments.add_ops(parser, required=True)
    arguments.add_dtype(parser)
    arguments.add_inputs(parser)
    parser.add_argument(
        "--device",
        default=_CPU,
        metavar="DEVICE",
        help="also say whether PyTorch and JAX can run the kernels on a device for which none is compiled (cuda)",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Show the form to which each kernel of an op is compiled, why, and what its machine code uses."""

    def explain(module: OpModule) -> None:
        given = sample(module, _ELEMENTS, options.dtype, shapes=options.shapes, attributes=options.attributes)
        forward = forward_step(module, given)
        for step in (forward, *gradient_steps(module, forward)):
            _print(module, step)
            if options.device != _CPU:
                for framework, answer in _on_device(step):
                    print(f"    {f'{framework}, {options.device}':<16}{answer}")

    with warnings.catch_warnings():
        # The output says if a kernel runs as Python.
        warnings.simplefilter("ignore", PykernelsWarning)
        return for_each(arguments.find_modules(options.ops), explain)


def _print(module: OpModule, step: Step) -> None:
    kernel = step.call.kernel
    print(f"{module.name} {step.name}: {kernel.signature}")
    for name, value in _lines(kernel.function, kernel.facts):
        print(f"    {name:<16}{value}")


def _on_device(step: Step) -> Iterator[tuple[str, str]]:
    """Yield each framework that runs kernels on devices for which none is compiled, and whether it can run this one."""
    for framework in FRAMEWORKS.values():
        if not framework.has("tracing"):
            continue
        if find_package(framework.package) is None:
            yield framework.title, f"unknown, since {framework.title} is not installed"
            continue
        reason = framework.module("tracing").why_not(step.op, step.call.kernel.function, step.inputs, step.attributes)
        yield framework.title, f"not: {reason}" if reason else "traced into its operations, which its compiler fuses"


def _lines(function: KernelFunction, facts: Facts) -> Iterator[tuple[str, str]]:
    yield "written in", f"{paths.shown(function.path)}:{function.line}"
    yield "form", f"{facts.form}: {_MEANINGS[facts.form]}"
    if facts.reason:
        yield "because", facts.reason
    for call in facts.python_calls:
        yield "calls Python", f"{paths.shown(function.path.parent / call.where)}: {call.name}: {call.reason}"
    if facts.slower:
        yield "large arrays", f"run as Python from {facts.slower_from:,} elements, which is faster: {facts.slower}"
    if facts.form in (ELEMENTWISE, FUSED):
        yield "vectorised", "yes" if facts.vectorised else "except the functions that are called element by element"
    if facts.vector_math:
        yield "math", f"{', '.join(facts.vector_math)}: on vectors"
    if facts.scalar_math:
        yield "math", f"{', '.join(facts.scalar_math)}: element by element, since this machine has no vector versions"
    if facts.fast_math:
        yield "fast math", "requested: results may differ from NumPy's in their last digits, and for NaN and infinities"
    if facts.blas:
        yield "matrix products", "by BLAS"
    if facts.instruction_set:
        yield "instructions", facts.instruction_set
