"""Implement ``python -m pykernels warmup``."""

from __future__ import annotations

import argparse
import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pykernels.base import progress
from pykernels.base.errors import PykernelsError, PykernelsWarning
from pykernels.build import cache
from pykernels.call.steps import forward_step, gradient_steps
from pykernels.frameworks.registrar_libraries import build_library, installed_registrars
from pykernels.load.folders import CPP_DEF
from pykernels.load.module import open_folder
from pykernels.load.samples import samples
from pykernels.tools.commands import arguments
from pykernels.tools.commands.output import complain, show
from pykernels.tools.commands.processes import in_processes

_T = TypeVar("_T")


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("warmup", help="fill the cache in advance", description=_run.__doc__)
    arguments.add_ops(parser)
    arguments.add_dtypes(parser, "float32")
    arguments.add_inputs(parser)
    arguments.add_jobs(parser, "processes")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Fill the cache: definitions, kernels, and the registrars of installed frameworks."""
    from rich.table import Table
    from rich.text import Text

    calls = _calls(options)
    with progress.bar("building", len(calls)) as bar:
        outcomes = list(in_processes(calls, options.jobs, bar))
    table = Table()
    table.add_column("", overflow="fold", min_width=8)
    for column in ("built", "from cache", "as Python", "failed"):
        table.add_column(column, justify="right")
    for each in outcomes:
        counts = (each.built, each.cached, len(each.python), len(each.failed))
        table.add_row(each.name, *(Text(str(n), style) for n, style in zip(counts, ("", "", "yellow", "red"))))
    show(table)
    for each in outcomes:
        for message in dict.fromkeys((*each.python, *each.failed)):
            complain(f"{each.name}: {message}")
    return 1 if any(each.failed for each in outcomes) else 0


def _calls(options: argparse.Namespace) -> list[Callable[[], _Outcome]]:
    """Return the builds to run, the slowest first."""
    dtypes = options.dtypes or [np.dtype(np.float32)]
    ops = [
        functools.partial(_warm_op, module.path, dtypes, options.shapes, options.attributes)
        for module in arguments.find_modules(options.ops)
    ]
    return [*(functools.partial(_warm_registrar, name) for name in installed_registrars()), *ops]


@dataclass
class _Outcome:
    """The result for an op or a registrar."""

    name: str
    #: How many parts were built and how many were in the cache. The parts are the definition, the kernels of a forward
    #: pass, and those of a gradient.
    built: int = 0
    cached: int = 0
    #: Why kernels run as Python; neither number counts these.
    python: list[str] = field(default_factory=list)
    #: What went wrong.
    failed: list[str] = field(default_factory=list)

    def attempt(self, build: Callable[[], _T], what: str) -> _T | None:
        """Return the result of `build` and count it; return None if it fails."""
        with cache.recorded() as built, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = build()
            except PykernelsError as error:
                self.failed.append(f"{what}: {error}")
                return None
        slow = [str(each.message) for each in caught if issubclass(each.category, PykernelsWarning)]
        self.python += slow
        self.built += bool(built and not slow)
        self.cached += not (built or slow)
        return result


def _warm_op(
    folder: Path, dtypes: Sequence[np.dtype], shapes: Mapping[str, tuple[int, ...]], attributes: Mapping[str, str]
) -> _Outcome:
    """Build what calls of an op need: its definition and the kernels of its forward pass and gradient.

    `shapes` and `attributes` are those of `samples.sample`. Without shapes, and without the op's own ``sample_inputs``,
    kernels are built for inputs of one shape, with each number of axes up to `samples.MAX_NDIM` that the definition
    accepts.
    """
    outcome = _Outcome(folder.name)
    module = open_folder(folder)
    if outcome.attempt(lambda: module.kernel_ids, "definition") is None:
        return outcome
    outcome.cached -= module.files[CPP_DEF].suffix == ".py"  # a Python definition is not built
    for dtype in dtypes:
        try:
            calls = samples(module, dtype, shapes=shapes, attributes=attributes)
        except PykernelsError as error:
            outcome.failed.append(f"{dtype}: {error}")
            continue
        for call in calls:
            forward = outcome.attempt(lambda: forward_step(module, call), str(dtype))  # noqa: B023
            if forward is not None and forward.op.gradient is not None:
                outcome.attempt(lambda: gradient_steps(module, forward), f"{dtype}, gradient")  # noqa: B023
    return outcome


def _warm_registrar(framework: str) -> _Outcome:
    """Build the registrar of a framework without importing the framework."""
    outcome = _Outcome(f"registrar for {framework}")
    outcome.attempt(lambda: build_library(framework), "registrar")
    return outcome
