"""Check gradients: compare them with finite differences in float64, and every other dtype with float64."""

from __future__ import annotations

from itertools import chain

import numpy as np

from pykernels.base.errors import KernelError, PykernelsError
from pykernels.call.steps import Gradient, Step, forward_step, gradient
from pykernels.frameworks.comparison import difference
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import move, run_compiled
from pykernels.tools.check.findings import Skipped, Wrong
from pykernels.tools.check.forms import Form
from pykernels.tools.check.search import Subject, search, search_long
from pykernels.tools.check.values import Kind

_F64 = np.dtype(np.float64)
_STEP = 1e-6
# The step grows with the moved number up to this factor, so that it does not skip a period of a sine.
_WIDEST = 100.0
# How many times smaller the step becomes if they differ.
_CLOSER = 8
# How much a gradient may differ from a finite difference, relative to the size of the terms.
_TOLERANCE = 2e-6
# How many elements of each input to move.
_MOVED = 24
# How much a gradient in another dtype may differ from the one in float64, by the bytes of a number.
_IN_DTYPE = {2: 5e-2, 4: 1e-3}
# How many times the effect of a change in the inputs' last digits is allowed in addition.
_MORE = 8


def check(subject: Subject) -> str:
    """Compare the gradient of the op with finite differences along each input."""
    op = subject.module.forward
    if op.gradient is None:
        raise Skipped(f"{op.name} has no gradient")
    compared: set[str] = set()
    end = _EndOfNetwork()

    def judge(sample: Sample) -> None:
        if subject.is_zeroed(sample.attributes) and not all(array.all() for array in chain(*sample.inputs)):
            return  # the slope may be infinite there, times 0
        forward = next(subject.steps(in_float64(sample)))
        compared.update(compare(subject.module, forward) or end.compare(subject.module, forward))
        _compare_dtypes(subject.module, sample)

    tried = search(subject, judge, differentiable(subject), [Kind.OWN, Kind.ORDINARY, Kind.LARGE])
    tried += search_long(subject, judge, [Kind.OWN])
    if not compared:
        return f"{tried} calls; the gradient reads no gradient of an output, and is not that of any output's sum"
    return f"{tried} calls, along {', '.join(sorted(compared))}"


def differentiable(subject: Subject) -> list[Form]:
    """Return the forms whose first array has real numbers, if the op takes these in float64."""
    forms = [form for form in subject.forms if form.dtype.kind == "f" and form.size]
    if not any(_takes_float64(subject.module, form) for form in forms):
        raise Skipped("the definition does not take float64, in which finite differences are exact enough")
    return forms


def _takes_float64(module: OpModule, form: Form) -> bool:
    specs = [[t._replace(dtype=_F64) if t.dtype and t.dtype.kind == "f" else t for t in group] for group in form.specs]
    try:
        module.forward.infer(specs, form.attributes)
    except PykernelsError:
        return False
    return True


def in_float64(sample: Sample) -> Sample:
    """Return the same call with floating-point numbers in float64."""
    inputs = [[a.astype(_F64) if a.dtype.kind == "f" else a.copy() for a in group] for group in sample.inputs]
    return Sample(inputs, sample.attributes)


def compare(module: OpModule, step: Step) -> list[str]:
    """Compare the gradient of a step in float64 with finite differences; raise `Wrong` if they differ.

    Return the names of the inputs that have a gradient.
    """
    found = _gradients(module, step)
    seeds = _read_seeds(found)
    names = []
    for (name, index), values in found.bound.items():
        if not any(seed is not None for seed in seeds):
            continue
        array = _input(step, name, index)
        if array.dtype != _F64 or values.shape != array.shape:
            continue
        names.append(name)
        problem = _compare_input(step, array, values.copy(), seeds)
        if problem:
            raise Wrong(f"{step.op.name}: the gradient of {name}{problem}")
    return names


class _EndOfNetwork:
    """Check gradients that read no gradient of an output: they are that of one output's sum, in all calls or in none.

    The definition does not say which output that is, or whether there is one: a classifier may return probabilities,
    but the gradient of a loss that it does not return.
    """

    def __init__(self) -> None:
        self._possible: set[int] = set()

    def compare(self, module: OpModule, step: Step) -> list[str]:
        """Compare one call; return the names of the inputs whose gradient is that of an output.

        This raises `Wrong` if it is that of an output in other calls, but not in this one.
        """
        found = _gradients(module, step)
        places = [place for place, values in found.bound.items() if _input(step, *place).dtype == values.dtype == _F64]
        if any(seed is not None for seed in _read_seeds(found)) or not places:
            return []
        gradients = {place: found.bound[place].copy() for place in places}
        names = [argument.name for argument, group in zip(step.op.outputs, step.outputs) for _ in group]
        problems: dict[int, str] = {}
        for output in range(len(names)):
            seeds = [np.ones_like(a) if i == output else None for i, a in enumerate(chain(*step.outputs))]
            for place, values in gradients.items():
                wrong = _compare_input(step, _input(step, *place), values, seeds)
                if wrong:
                    problems[output] = f"the gradient of {place[0]}{wrong}, along the sum of {names[output]}"
                    break
        right = set(range(len(names))) - set(problems)
        if self._possible and not self._possible & right:
            raise Wrong(f"{step.op.name}: {problems[min(self._possible)]}, whose gradient it is in other calls")
        self._possible = self._possible & right or right
        return [name for name, _ in places] if right else []


def _compare_dtypes(module: OpModule, sample: Sample) -> None:
    """Compare the gradient in the dtype of a call with that of the same numbers in float64.

    This raises `Wrong` if they differ by more than the precision of the dtype explains.
    """
    if all(array.dtype == _F64 or array.dtype.kind != "f" for array in chain(*sample.inputs)):
        return
    forward = forward_step(module, sample)
    narrow = _gradients(module, forward)
    step = forward_step(module, in_float64(sample))
    wide = gradient(module, step)
    for to, source in zip(chain(*wide.seeds), chain(*narrow.seeds)):
        to[...] = source
    _run(step, wide)
    exact = {place: values.copy() for place, values in wide.bound.items()}
    # Measure how much the last digit of each input matters.
    for name, index in exact:
        dtype = _input(forward, name, index).dtype
        if dtype.kind == "f":
            move(_input(step, name, index), dtype)
    _run(step, wide)
    for place, values in narrow.bound.items():
        wanted = exact[place]
        if values.dtype.kind != "f" or wanted.shape != values.shape or not np.isfinite(wanted).all():
            continue
        size = max(1.0, float(np.abs(wanted).max(initial=0)))
        moved = float(np.abs(wide.bound[place] - wanted).max(initial=0))
        allowed = _IN_DTYPE.get(values.dtype.itemsize, _TOLERANCE) * size + _MORE * moved
        # Another check reports overflow.
        wanted = np.where(np.isfinite(values), wanted, values).astype(values.dtype)
        problem = difference(f"the gradient of {place[0]}", values, wanted, allowed=allowed)
        if problem:
            raise Wrong(f"{step.op.name}: in {values.dtype}, {problem}, which float64 gives")


def _input(step: Step, name: str, index: int) -> np.ndarray:
    return next(group for argument, group in zip(step.op.inputs, step.inputs) if argument.name == name)[index]


def _gradients(module: OpModule, step: Step) -> Gradient:
    found = gradient(module, step)
    _run(step, found)
    return found


def _run(step: Step, found: Gradient) -> None:
    """Run the forward pass, then the gradient on its results; states are restored."""
    for each in (step, *found.steps):
        run_compiled(each)


def _read_seeds(found: Gradient) -> list[np.ndarray | None]:
    """Return the gradients of the outputs; None for those that the gradient does not read, as if constant."""
    read = [id(array) for step in found.steps for array in chain(*step.inputs)]
    read += [id(array) for array in found.bound.values()]
    return [seed if id(seed) in read else None for seed in chain(*found.seeds)]


def _compare_input(step: Step, array: np.ndarray, values: np.ndarray, seeds: list[np.ndarray | None]) -> str | None:
    """Move one element after the other and return what is wrong, or None."""
    flat, found = array.reshape(-1), values.reshape(-1)
    places = range(flat.size)
    if flat.size > _MOVED:
        places = np.random.default_rng(0).choice(flat.size, _MOVED, replace=False).tolist()
    here, scale = _value(step, seeds)
    has_results = any(output.size for output in chain(*step.outputs))

    def sides(at: int, width: float) -> list[float]:
        """Return the slopes below and above, sorted; NaN if the kernel refuses the numbers there."""
        before, found = float(flat[at]), []
        for distance in (-width, width):
            flat[at] = before + distance
            try:
                found.append((_value(step, seeds)[0] - here) / distance)
            except KernelError:
                found.append(np.nan)
        flat[at] = before
        return sorted(found)

    for at in places:
        width = _STEP * min(max(1.0, abs(float(flat[at]))), _WIDEST)
        low, high = sides(at, width)
        # Without results, an op does not show for which numbers it is finite.
        if not np.isfinite([low, high]).all() or not (has_results or np.isfinite(found[at])):
            continue
        slope = (low + high) / 2
        # The second term is the rounding error of a difference of numbers of this size.
        allowed = _TOLERANCE * max(1.0, abs(slope), abs(found[at])) + 4e-15 * scale / width
        # At a kink, where the sides differ, any slope between them is a derivative.
        if low - allowed <= found[at] <= high + allowed:
            continue
        closer = sides(at, width / _CLOSER)
        # At a jump, or where the slope is infinite, a smaller step gives a steeper slope.
        if max(map(abs, closer)) > 2 * (max(abs(low), abs(high)) + _CLOSER * allowed):
            continue
        # Allow for cancellation of large numbers, and for a slope that changes within a step.
        allowed += 2 * max(abs(closer[0] - low), abs(closer[1] - high))
        if low - allowed <= found[at] <= high + allowed:
            continue
        place = ", ".join(map(str, map(int, np.unravel_index(at, array.shape))))
        return f"{f'[{place}]' if place else ''} is {found[at]:.9g}, but finite differences give {slope:.9g}"
    return None


def _value(step: Step, seeds: list[np.ndarray | None]) -> tuple[float, float]:
    """Return the sum of outputs times their gradients, whose slopes the gradients are, and the size of its terms."""
    total, size = 0.0, 0.0
    for output, seed in zip(run_compiled(step), seeds):
        if seed is not None:
            terms = output.astype(np.float64) * seed
            total, size = total + float(terms.sum()), size + float(np.abs(terms).sum())
    return total, size
