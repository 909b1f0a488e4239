"""Whether an op gives in a framework what it gives to NumPy's arrays."""

from __future__ import annotations

from collections.abc import Iterator

from pykernels.frameworks.case import Case, Outcome, Way
from pykernels.frameworks.comparison import difference

__all__ = ["BY_FUNCTION", "judge", "way_name"]

#: What the names of ways end with where the function of the API file is called.
BY_FUNCTION = " by the API function"


def way_name(case: Case, name: str) -> str:
    """What reports call a way to call an op."""
    return f"{name}{BY_FUNCTION}" if case.function else name


def judge(case: Case, way: Way) -> str | None:
    """What is wrong with what comes of a way to call an op, in words; None if nothing is."""
    try:
        found = way()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return next(_differences(case, found), None)


def _differences(case: Case, found: Outcome) -> Iterator[str]:
    expected = case.expected[found.is_train]
    if len(found.outputs) != len(expected.outputs):
        yield f"it gives {len(found.outputs)} outputs instead of {len(expected.outputs)}"
        return
    names = [f"{name}[{i}]" if count > 1 else name for name, count in case.counts.items() for i in range(count)]
    if len(names) != len(expected.outputs):  # the API function gives others
        names = [f"result {i}" for i in range(len(expected.outputs))]
    pairs = zip(names, found.outputs, expected.outputs)
    told = [difference(name, one, other) for name, one, other in pairs]
    if found.states is not None and expected.states is not None:
        states = [name for name in case.states for _ in case.inputs[name]]
        told += [difference(f"afterwards {name}", *each) for name, *each in zip(states, found.states, expected.states)]
    for place, gradient in found.gradients.items():
        name, wanted = f"the gradient of {place[0]}", expected.gradients[place]
        told.append(difference(name, gradient, wanted, allowed=found.tolerance))
    yield from filter(None, told)
