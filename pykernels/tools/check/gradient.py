"""Check gradients: compare them with finite differences in double precision, and other dtypes with that."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np

from pykernels.base.dtypes import real
from pykernels.base.errors import PykernelsError
from pykernels.call.steps import Gradient, Step, forward_step, gradient
from pykernels.frameworks.comparison import difference
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import move, rounding_errors, run_compiled, run_exact
from pykernels.tools.check.findings import Skipped, Wrong
from pykernels.tools.check.finite_differences import (
    TOLERANCE,
    WIDE,
    Seeds,
    WrongSlope,
    has_ties,
    is_kink,
    step_aside,
    wrong_slope,
)
from pykernels.tools.check.forms import Form
from pykernels.tools.check.search import Subject, search, search_long
from pykernels.tools.check.values import Kind

# How much a gradient in another dtype may differ from the one in double precision, by the bytes of a real number.
_IN_DTYPE = {2: 5e-2, 4: 1e-3}
# How many times the effect of a change in the inputs' last digits is allowed in addition.
_MORE = 8


def check(subject: Subject) -> str:
    """Compare the gradient of the op with finite differences along each input."""
    op = subject.module.forward
    if op.gradient is None:
        raise Skipped(f"{op.name} has no gradient")
    compared: set[str] = set()
    beside: Counter[str] = Counter()
    end = _EndOfNetwork()

    def judge(sample: Sample) -> None:
        if subject.is_zeroed(sample.attributes) and not all(array.all() for array in chain(*sample.inputs)):
            return  # the slope may be infinite there, times 0
        forward = next(subject.steps(in_float64(sample)))
        compared.update(compare(subject.module, forward, beside) or end.compare(subject.module, forward))
        _compare_dtypes(subject.module, sample)

    tried = search(subject, judge, differentiable(subject), [Kind.OWN, Kind.ORDINARY, Kind.LARGE])
    tried += search_long(subject, judge, [Kind.OWN])
    if not compared:
        return f"{tried} calls; the gradient reads no gradient of an output, and is not that of any output's sum"
    return f"{tried} calls, along {', '.join(sorted(compared))}{described(beside)}"


def described(beside: Counter[str]) -> str:
    """Return what was not compared at the numbers themselves, but beside them."""
    if not beside:
        return ""
    skipped = " and ".join(f"{count} at {where}" for where, count in beside.items())
    return f"; {skipped} skipped, for numbers beside them"


def differentiable(subject: Subject) -> list[Form]:
    """Return the forms with floating-point or complex numbers, if the op takes these in double precision."""
    forms = [form for form in subject.forms if form.dtype.kind in "fc" and form.size]
    if not any(_takes_double(subject.module, form) for form in forms):
        raise Skipped("the definition does not take float64, in which finite differences are exact enough")
    return forms


def _takes_double(module: OpModule, form: Form) -> bool:
    specs = [[t._replace(dtype=t.dtype and _double(t.dtype)) for t in group] for group in form.specs]
    try:
        module.forward.infer(specs, form.attributes)
    except PykernelsError:
        return False
    return True


def in_float64(sample: Sample) -> Sample:
    """Return the same call with floating-point and complex numbers in double precision."""
    inputs = [[a.astype(_double(a.dtype)) for a in group] for group in sample.inputs]
    return Sample(inputs, sample.attributes)


def _double(dtype: np.dtype) -> np.dtype:
    return np.result_type(dtype, np.float64) if dtype.kind in "fc" else dtype


def compare(module: OpModule, step: Step, beside: Counter[str]) -> list[str]:
    """Compare the gradient of a step in double precision with finite differences; raise `Wrong` if they differ.

    Return the names of the inputs that have a gradient. At a tie or a kink, where several gradients are right, this
    moves the inputs aside, compares there, and counts it in `beside`.
    """
    seeds, names, wrong = _compared(module, step)
    if wrong is not None and np.isfinite(wrong.found) and is_kink(step, seeds):
        where = "ties" if has_ties(step) else "kinks"
        step_aside(step)
        seeds, names, wrong = _compared(module, step)
        wrong = None if wrong is None or is_kink(step, seeds) else wrong
        beside[where] += 1
    if wrong is not None:
        raise Wrong(f"{step.op.name}: the gradient of {wrong.text}")
    return names


def _compared(module: OpModule, step: Step) -> tuple[Seeds, list[str], WrongSlope | None]:
    """Return the gradients of the outputs, the names of the inputs that have one, and what is wrong with it."""
    found = _gradients(module, step)
    seeds = _read_seeds(found)
    names = []
    for (name, index), values in found.bound.items():
        if not any(seed is not None for seed in seeds):
            continue
        array = _input(step, name, index)
        if array.dtype not in WIDE or values.shape != array.shape:
            continue
        if values.dtype.kind != array.dtype.kind:
            raise Wrong(f"{step.op.name}: the gradient of {name} is {values.dtype}, and the input is {array.dtype}")
        names.append(name)
        wrong = wrong_slope(step, array, values.copy(), seeds)
        if wrong:
            return seeds, names, wrong._replace(text=f"{name}{wrong.text}")
    return seeds, names, None


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
        places = [place for place, values in found.bound.items() if _input(step, *place).dtype == values.dtype in WIDE]
        if any(seed is not None for seed in _read_seeds(found)) or not places:
            return []
        gradients = {place: found.bound[place].copy() for place in places}
        names = [argument.name for argument, group in zip(step.op.outputs, step.outputs) for _ in group]
        problems: dict[int, str] = {}
        for output in range(len(names)):
            seeds: Seeds = [np.ones_like(a) if i == output else None for i, a in enumerate(chain(*step.outputs))]
            for place, values in gradients.items():
                wrong = wrong_slope(step, _input(step, *place), values, seeds)
                if wrong and not is_kink(step, seeds):
                    problems[output] = f"the gradient of {place[0]}{wrong.text}, along the sum of {names[output]}"
                    break
        right = set(range(len(names))) - set(problems)
        if self._possible and not self._possible & right:
            raise Wrong(f"{step.op.name}: {problems[min(self._possible)]}, whose gradient it is in other calls")
        self._possible = self._possible & right or right
        return [name for name, _ in places] if right else []


def _compare_dtypes(module: OpModule, sample: Sample) -> None:
    """Compare the gradient in the dtype of a call with that of the same numbers in double precision.

    This raises `Wrong` if they differ by more than the precision of the dtype explains.
    """
    if all(array.dtype == _double(array.dtype) for array in chain(*sample.inputs)):
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
        if dtype.kind in "fc":
            move(_input(step, name, index), dtype)
    _run(step, wide)
    for place, values in narrow.bound.items():
        wanted = exact[place]
        if values.dtype.kind not in "fc" or wanted.shape != values.shape or not np.isfinite(wanted).all():
            continue
        size = max(1.0, float(np.abs(wanted).max(initial=0)))
        moved = float(np.abs(wide.bound[place] - wanted).max(initial=0))
        allowed = _IN_DTYPE.get(real(values.dtype).itemsize, TOLERANCE) * size + _MORE * moved
        # Another check reports overflow.
        wanted = np.where(np.isfinite(values), wanted, values).astype(values.dtype)
        problem = difference(f"the gradient of {place[0]}", values, wanted, allowed=allowed)
        if problem:
            # Where large numbers cancel, the errors of their last digits make up the result.
            allowed += _MORE * _rounding(narrow, values)
            problem = difference(f"the gradient of {place[0]}", values, wanted, allowed=allowed)
        if problem:
            raise Wrong(f"{step.op.name}: in {values.dtype}, {problem}, which {_double(values.dtype)} gives")


def _rounding(found: Gradient, values: np.ndarray) -> float:
    """Return how far rounding errors move a gradient, which is an output of one of its steps."""
    for step in found.steps:
        places = [at for at, array in enumerate(chain(*step.outputs)) if array is values]
        exact = run_exact(step) if places else None
        if exact is not None:
            errors = rounding_errors(step, exact)[places[0]]
            return float(errors.max(initial=0, where=np.isfinite(errors)))
    return 0.0


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


def _read_seeds(found: Gradient) -> Seeds:
    """Return the gradients of the outputs; None for those that the gradient does not read, as if constant."""
    read = [id(array) for step in found.steps for array in chain(*step.inputs)]
    read += [id(array) for array in found.bound.values()]
    # Integers have no gradient.
    seeds = chain(*found.seeds)
    return [seed if id(seed) in read and seed.dtype.kind in "fc" else None for seed in seeds]
