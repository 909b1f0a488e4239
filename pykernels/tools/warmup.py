"""Fill the cache ahead: the definition and the kernels of an op, and the registrars of installed frameworks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from pykernels.base.errors import PykernelsError, PykernelsWarning
from pykernels.build import cache
from pykernels.call.steps import forward_step, gradient_steps
from pykernels.frameworks.registrar_libraries import build_library
from pykernels.load.folders import CPP_DEF
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample, samples

__all__ = ["Outcome", "warm_op", "warm_registrar"]

_T = TypeVar("_T")


@dataclass
class Outcome:
    """What became of an op, or of a registrar.

    Attributes
    ----------
    name : str
    built, cached : int
        How many were built, and how many were there, of: the definition, the kernels of a forward pass, those of a
        gradient.
    python : list of str
        Why kernels run as Python, which are in neither number.
    failed : list of str
        What went wrong.
    """

    name: str
    built: int = 0
    cached: int = 0
    python: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def attempt(self, build: Callable[[], _T], what: str) -> _T | None:
        """What `build` gives, with what came of it counted; None if it fails."""
        with cache.recorded() as built, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                result = build()
            except PykernelsError as error:
                self.failed.append(f"{what}: {error}")
                return None
        slow = [str(each.message) for each in told if issubclass(each.category, PykernelsWarning)]
        self.python += slow
        self.built += bool(built and not slow)
        self.cached += not (built or slow)
        return result


def warm_op(
    folder: Path,
    dtypes: Sequence[str],
    shapes: Mapping[str, tuple[int, ...]],
    attributes: Mapping[str, str],
) -> Outcome:
    """Build what calls of an op need: its definition, and the kernels of its forward pass and gradient.

    Parameters
    ----------
    folder : Path
    dtypes : sequence of str
        The dtypes of the inputs.
    shapes, attributes : mapping
        As `samples.sample` takes them. Without shapes, and without arguments of the op's own, kernels are built for
        inputs of one shape with any number of axes, up to `samples.MAX_NDIM`, that the definition accepts.
    """
    outcome = Outcome(folder.name)
    module = OpModule(folder.name, folder).py_api().cpp_def().py_kernel()
    if outcome.attempt(lambda: module.numbers, "definition") is None:
        return outcome
    outcome.cached -= module.files[CPP_DEF].suffix == ".py"  # which is not built
    for dtype in map(np.dtype, dtypes):
        for arguments in _variants(module, dtype, shapes, attributes, outcome):
            forward = outcome.attempt(lambda: forward_step(module, arguments), str(dtype))  # noqa: B023
            if forward is not None and forward.op.gradient is not None:
                outcome.attempt(lambda: gradient_steps(module, forward), f"{dtype}, gradient")  # noqa: B023
    return outcome


def warm_registrar(framework: str) -> Outcome:
    """Build the registrar of a framework, which is not imported for that."""
    outcome = Outcome(f"registrar for {framework}")
    outcome.attempt(lambda: build_library(framework), "registrar")
    return outcome


def _variants(
    module: OpModule,
    dtype: np.dtype,
    shapes: Mapping[str, tuple[int, ...]],
    attributes: Mapping[str, str],
    outcome: Outcome,
) -> list[Sample]:
    try:
        return samples(module, dtype, shapes=shapes, attributes=attributes)
    except PykernelsError as error:
        outcome.failed.append(f"{dtype}: {error}")
        return []
