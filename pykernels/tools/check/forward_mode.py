"""Check forward-mode derivatives: compare the tangents of outputs with finite differences along those of the inputs."""

from __future__ import annotations

from itertools import chain

import numpy as np

from pykernels.base.errors import KernelError
from pykernels.call.steps import Step, Tangent, tangent
from pykernels.define.tangent_plan import plan_tangent
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import run_compiled
from pykernels.tools.check.findings import Skipped, Wrong
from pykernels.tools.check.finite_differences import TOLERANCE, WIDE
from pykernels.tools.check.gradient import differentiable, in_float64
from pykernels.tools.check.search import Subject, search
from pykernels.tools.check.values import Kind

# The steps of differences. From two, it shows how exact they are.
_STEPS = (1e-6, 1e-7)


def check(subject: Subject) -> str:
    """Compare the tangents that the op computes with differences of its outputs."""
    if plan_tangent(subject.module.forward) is None:
        raise Skipped(f"{subject.module.forward.name} has no function of tangents")

    def judge(sample: Sample) -> None:
        if subject.is_zeroed(sample.attributes) and not all(array.all() for array in chain(*sample.inputs)):
            return  # the slope may be infinite there, times 0
        forward = next(subject.steps(in_float64(sample)))
        run_compiled(forward)
        along = tangent(subject.module, forward)
        assert along is not None
        run_compiled(along.step)
        _compare(forward, along)

    tried = search(subject, judge, differentiable(subject), [Kind.OWN, Kind.ORDINARY])
    return f"{tried} calls, along random tangents"


def _compare(forward: Step, along: Tangent) -> None:
    here = [output.copy() for output in chain(*forward.outputs)]
    places = {id(output): at for at, output in enumerate(chain(*forward.outputs))}
    slopes = [_slopes(forward, along, here, width) for width in _STEPS]
    for at, argument, group in zip(along.outputs, along.step.op.outputs, along.step.outputs):
        for output, found in zip(forward.outputs[at], group):
            place = places[id(output)]
            (low, high), (closer_low, closer_high) = ([_parts(side[place]) for side in sides] for sides in slopes)
            parts = _parts(found)
            size = np.maximum(1, np.maximum(np.abs(parts), np.abs(high)))
            with np.errstate(all="ignore"):
                allowed = TOLERANCE * size + 4e-15 * np.abs(here[place])[..., None] / _STEPS[-1]
                # For slopes that change within a step, and jumps.
                allowed += 2 * np.maximum(np.abs(closer_low - low), np.abs(closer_high - high))
                # At a kink, any slope between those of both sides is a derivative.
                is_wrong = (parts < np.minimum(low, high) - allowed) | (parts > np.maximum(low, high) + allowed)
            is_wrong &= np.isfinite(low) & np.isfinite(high)
            if is_wrong.any():
                index = tuple(map(int, np.argwhere(is_wrong)[0]))
                shown = f"[{', '.join(map(str, index[:-1]))}]" if index[:-1] else ""
                part = (".real", ".imag")[index[-1]] if found.dtype.kind == "c" else ""
                slope = (low[index] + high[index]) / 2
                raise Wrong(
                    f"{along.step.op.name}: {argument.name}{shown}{part} is {parts[index]:.9g}, but finite differences "
                    f"give {slope:.9g}"
                )


def _parts(array: np.ndarray) -> np.ndarray:
    """Return an array with one more axis, that of the parts of complex numbers."""
    return np.stack((array.real, array.imag), axis=-1) if array.dtype.kind == "c" else array[..., None]


def _slopes(step: Step, along: Tangent, here: list[np.ndarray], width: float) -> list[list[np.ndarray]]:
    """Return how fast each output changes along the tangents, before and after the inputs; NaN where it is refused."""
    moving = [(a, t) for a, t in zip(chain(*step.inputs), chain(*along.seeds)) if a.dtype in WIDE]
    before = [array.copy() for array, _ in moving]
    sides = []
    for distance in (-width, width):
        for (array, seed), value in zip(moving, before):
            array[...] = value + distance * seed
        try:
            results = run_compiled(step)
            with np.errstate(all="ignore"):
                sides.append([(result - value) / distance for result, value in zip(results, here)])
        except KernelError:
            sides.append([np.full(value.shape, np.nan) for value in here])
    for (array, _), value in zip(moving, before):
        array[...] = value
    return sides
