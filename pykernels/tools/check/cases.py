"""Choose the calls to compare between frameworks, and compare their results with those on NumPy arrays."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from pykernels.base.errors import PykernelsError
from pykernels.call.steps import Step, forward_step, gradient
from pykernels.frameworks.case import Case, NodeCase, Outcome, Way
from pykernels.frameworks.comparison import difference
from pykernels.frameworks.numpy import check
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import run_compiled
from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.search import Subject, TooLong, Trial
from pykernels.tools.check.values import Kind, draw_sample

#: The ending of the names of ways that call the function of the API file.
BY_FUNCTION = " by the API function"

# Graphs take time to build: every second sample also runs in graphs, every fourth by the API function in graphs.
_IN_GRAPHS, _FUNCTION_IN_GRAPHS = 2, 4


def trials_of(subject: Subject) -> list[Trial]:
    """Return the calls to try: each directly, by the function of the API file, and on strided arrays.

    This raises `Wrong` if the API function fails on NumPy arrays, and the `PykernelsError` of a call if all fail.
    """
    found = []
    for number, sample in enumerate(_samples(subject)):
        case = replace(_case(subject.module, sample), in_graphs=number % _IN_GRAPHS == 0)
        by_function = _by_function(subject.module, case, sample)
        ways = (
            [case] if by_function is None else [case, replace(by_function, in_graphs=number % _FUNCTION_IN_GRAPHS == 0)]
        )
        if any(array.size > 1 for array in ways[0].arrays):
            ways += [replace(each, is_strided=True, in_graphs=False) for each in ways]
        found += [Trial(sample, each) for each in ways]
    return found


def _samples(subject: Subject) -> Iterator[Sample]:
    """Yield one call of each kind: dtypes, scalars, empty arrays, other values of each attribute, and large arrays."""
    if subject.given is not None:
        yield from subject.given
        return
    first = subject.forms[0]
    full = sorted((form for form in subject.forms if form.dtype == first.dtype), key=lambda form: form.size)
    chosen: dict[Any, Sample] = {}
    failure = None
    for number, form in enumerate([first, *full[len(full) // 2 :][:1], *full[-1:], *subject.forms]):
        kind = "empty" if not form.size else "numbers" if 0 in form.ranks else "large" if number in (1, 2) else "small"
        others = tuple(
            (name, str(value)[:1] == "-") for name, value in form.attributes.items() if value != first.attributes[name]
        )
        key = (form.dtype, kind, others if form.dtype == first.dtype else ())
        if key in chosen:
            continue
        sample = draw_sample(form, [Kind.OWN], number)
        try:
            list(subject.steps(sample))
        except (Exception, TooLong) as error:  # refused, or an error that other checks find
            failure = failure or error
            continue
        chosen[key] = sample
    if not chosen and isinstance(failure, PykernelsError):
        raise failure
    yield from sorted(chosen.values(), key=lambda sample: sum(a.size for group in sample.inputs for a in group) or 1e9)


def _by_function(module: OpModule, case: Case, sample: Sample) -> Case | None:
    """Return the same call by the API function, or None if that takes other arguments."""
    op, function = module.forward, getattr(module.api, module.name, None)
    if not callable(function):
        return None
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # the function has no readable signature
        return None
    known = [*(argument.name for argument in op.inputs), *(attribute.name for attribute in op.attributes)]
    others = [each for name, each in parameters.items() if name not in known and each.kind is not each.VAR_KEYWORD]
    needed = {*case.inputs, *case.attributes, *(each.name for each in op.attributes if each.required)}
    if not needed <= set(parameters) or any(each.default is each.empty for each in others):
        return None
    called = replace(case, function=tuple(name for name in known if name in parameters))
    (way,) = check.ways(called).values()
    try:
        outcome = way()
    except Exception as error:
        raise Wrong(f"NumPy, the API function: {type(error).__name__}: {error}", sample) from error
    if not all(isinstance(each, np.ndarray) for each in outcome.outputs):
        return None
    wanted = case.expected[False].outputs
    is_alike = [(a.shape, a.dtype) for a in outcome.outputs] == [(a.shape, a.dtype) for a in wanted]
    # If the function does more than the op, its own results on NumPy arrays are the expected ones.
    return called if is_alike and not others else replace(called, expected={False: outcome}, places=[], seeds=[])


def forward_case(module: OpModule, sample: Sample) -> Case:
    """Return the call of an op without training and gradient."""
    op, step = module.forward, forward_step(module, sample, is_train=False)
    defaults = {attribute.name: attribute.default for attribute in op.attributes}
    return Case(
        op.name,
        {argument.name: group for argument, group in zip(op.inputs, sample.inputs)},
        {name: value for name, value in sample.attributes.items() if value != defaults[name]},
        {argument.name: argument.count for argument in op.outputs},
        [],
        [],
        [argument.name for argument in op.inputs if argument.mutable],
        {False: _outcome(step)},
        [_node(step)],
        in_graphs=False,
    )


def _case(module: OpModule, sample: Sample) -> Case:
    expected = {is_train: _expected(module, sample, is_train=is_train) for is_train in (True, False)}
    outcome, seeds, nodes = expected[False]
    return replace(
        forward_case(module, sample),
        seeds=seeds,
        places=list(expected[True][0].gradients),
        expected={True: expected[True][0], False: outcome},
        nodes=nodes,
    )


def _outcome(step: Step) -> Outcome:
    count = sum(len(group) for group in step.outputs)
    results = run_compiled(step)
    return Outcome(results[:count], {}, step.is_train, results[count:])


def _expected(module: OpModule, sample: Sample, *, is_train: bool) -> tuple[Outcome, list[np.ndarray], list[NodeCase]]:
    step = forward_step(module, sample, is_train=is_train)
    outcome = _outcome(step)
    if step.op.gradient is None:
        return outcome, [], [_node(step)]
    found = gradient(module, step)
    for each in found.steps:
        run_compiled(each)
    gradients = {place: values.copy() for place, values in found.bound.items() if values.dtype.kind in "fc"}
    return replace(outcome, gradients=gradients), list(chain(*found.seeds)), list(map(_node, (step, *found.steps)))


def _node(step: Step) -> NodeCase:
    outputs = [array.copy() for group in step.outputs for array in group]
    counts = [len(group) for group in step.outputs]
    inputs = [[array.copy() for array in group] for group in step.inputs]
    return NodeCase(step.op.name, inputs, dict(step.attributes), counts, outputs)


def way_name(case: Case, name: str) -> str:
    """Return the name of a way to call an op in reports."""
    return f"{name}{BY_FUNCTION}" if case.function else name


def judge(case: Case, way: Way) -> str | None:
    """Call an op in one way and return what is wrong with its results, or None."""
    try:
        found = way()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return next(_differences(case, found), None)


def _differences(case: Case, found: Outcome) -> Iterator[str]:
    expected = case.expected[found.is_train]
    if len(found.outputs) != len(expected.outputs):
        yield f"it returns {len(found.outputs)} outputs instead of {len(expected.outputs)}"
        return
    names = [f"{name}[{i}]" if count > 1 else name for name, count in case.counts.items() for i in range(count)]
    if len(names) != len(expected.outputs):  # the API function returns others
        names = [f"result {i}" for i in range(len(expected.outputs))]
    pairs = zip(names, found.outputs, expected.outputs)
    problems = [difference(name, one, other) for name, one, other in pairs]
    if found.states is not None and expected.states is not None:
        states = [name for name in case.states for _ in case.inputs[name]]
        problems += [
            difference(f"afterwards {name}", *each) for name, *each in zip(states, found.states, expected.states)
        ]
    for place, values in found.gradients.items():
        name, wanted = f"the gradient of {place[0]}", expected.gradients[place]
        problems.append(difference(name, values, wanted, allowed=found.tolerance))
    yield from filter(None, problems)
