"""Tensor types of a new op, and the formulas for the lengths of axes in them."""

from __future__ import annotations

import functools
import itertools
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: The name of an attribute that selects an axis.
AXIS = "axis"


@dataclass(frozen=True)
class Tensor:
    """A tensor of an op, with its type: a word for its dtype, and its axes."""

    name: str
    dtype: str
    axes: tuple[str, ...]

    @property
    def type(self) -> str:
        """The type as it is written in a definition."""
        return f"{self.dtype}[{', '.join(self.axes)}]"

    @property
    def takes_any(self) -> bool:
        """Whether it has any number of axes before the named ones."""
        return bool(self.axes) and self.axes[0].startswith("...")

    @property
    def named(self) -> tuple[str, ...]:
        """Its axes but for "..."."""
        return self.axes[1:] if self.takes_any else self.axes


@dataclass(frozen=True)
class Case:
    """The shapes and attributes of a call."""

    #: The axes that "..." stands for; for an axis that an attribute selects, all axes.
    leading: tuple[int, ...]
    lengths: Mapping[str, int]
    attributes: Mapping[str, Any]

    def shape(self, tensor: Tensor) -> tuple[int, ...]:
        """Return the shape of an input."""
        named = tuple(value_of(each, self) or 0 for each in tensor.named)
        return (*self.leading, *named) if tensor.takes_any else named


def is_along_axis(inputs: Sequence[Tensor]) -> bool:
    """Return whether an attribute selects an axis of the inputs."""
    return any(AXIS in each for tensor in inputs for each in tensor.axes)


def names_in(formula: str) -> list[str]:
    """Return the names of axes and attributes in a formula."""
    return re.findall(r"[A-Za-z_]\w*", formula)


def axes_of(seen: Sequence[tuple[Case, tuple[int, ...]]], inputs: Sequence[Tensor]) -> tuple[str, ...] | None:
    """Return the axes of a type that has the shapes that were seen, or None."""
    if is_along_axis(inputs):
        return _axes_along(seen)
    leads = any(tensor.takes_any for tensor in inputs)
    for lead in (True, False) if leads else (False,):
        rests = [shape[len(case.leading) :] if lead else shape for case, shape in seen]
        begins = [shape[: len(case.leading)] == case.leading if lead else True for case, shape in seen]
        if all(begins) and len({len(rest) for rest in rests}) == 1:
            axes = [_formula([(case, rest[at]) for (case, _), rest in zip(seen, rests)]) for at in range(len(rests[0]))]
            if all(axes):
                return (("...",) if lead else ()) + tuple(map(str, axes))
    return None


def _axes_along(seen: Sequence[tuple[Case, tuple[int, ...]]]) -> tuple[str, ...] | None:
    """Return the axes of a result if an attribute selects an axis of the inputs."""
    if all(not shape for _, shape in seen):
        return ()
    lengths, without = [], True
    for case, shape in seen:
        at = case.attributes[AXIS] % len(case.leading)
        rest = case.leading[:at] + case.leading[at + 1 :]
        without = without and shape == rest
        if len(shape) == len(case.leading) and shape[:at] + shape[at + 1 :] == rest:
            lengths.append((Case((), {"n": case.leading[at]}, case.attributes), shape[at]))
    if without:
        return ("... without axis",)
    formula = _formula(lengths) if len(lengths) == len(seen) else None
    return None if formula is None else (f"... with axis = {formula}",)


def _formula(seen: Sequence[tuple[Case, int]]) -> str | None:
    """Return a formula of lengths and attributes that gives the lengths that were seen."""
    for text in _formulas(seen[0][0]):
        if all(value_of(text, case) == length for case, length in seen):
            return text
    constant = {length for _, length in seen}
    return str(constant.pop()) if len(constant) == 1 else None


def value_of(formula: str, case: Case) -> int | None:
    """Return the value of a formula of lengths and attributes, or None if it divides by 0."""
    try:
        return int(eval(_compiled(formula), {}, {**case.attributes, **case.lengths}))
    except ZeroDivisionError:
        return None


@functools.cache
def _compiled(formula: str) -> types.CodeType:
    return compile(formula, "<formula>", "eval")


def _formulas(case: Case) -> Iterator[str]:
    names = list(case.lengths)
    attributes = [
        text
        for name, value in case.attributes.items()
        if not isinstance(value, (bool, float, str))
        for text in ([name] if isinstance(value, int) else [f"{name}[{at}]" for at in range(len(value))])
    ]
    yield from names
    yield from attributes
    for a, b in itertools.permutations(names, 2):
        yield from (f"{a} + {b}", f"{a} * {b}", f"{a} - {b}", f"{a} + {b} - 1")
    for numbers in (attributes, "1234"):
        for a, n in itertools.product(names, numbers):
            yield from (f"{n} * {a}", f"{a} // {n}", f"{a} + {n}", f"{a} - {n}", f"{a} + 2 * {n}", f"{a} - {n} + 1")
            yield f"{a} // ({n} * {n})"
    for a, n, m in itertools.product(names, attributes, [*attributes, *"1234"]):
        yield from (f"({a} - {n}) // {m} + 1", f"({a} - 1) * {m} + {n}", f"{a} + {n} + {m}", f"{a} * {n} * {m}")
    for a, n, m, p in itertools.product(names, attributes, attributes, attributes):
        yield f"({a} + 2 * {p} - {n}) // {m} + 1"
    for three in itertools.combinations(names, 3):
        yield from (" + ".join(three), " * ".join(three))
