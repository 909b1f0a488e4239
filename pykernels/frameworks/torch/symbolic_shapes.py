"""Infer symbolic shapes from a definition by evaluating it on several numbers.

Definitions compute with numbers. Tracers use symbols, each with an example number. So this module evaluates a
definition for varying values of the symbols, until it knows which symbols must be equal, which must have the value of
the example, and how the dimensions of the outputs follow from the others.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Steps to add to the example of a symbol. The first are multiples of all numbers up to 10, for definitions that divide.
_STEPS = (2520, 5040, 1, 7)
# The largest divisor in a definition.
_MOST_DIVISOR = 64

#: Returns the dimensions of all outputs one after the other, or None if the definition refuses the inputs.
Infer = Callable[[Sequence[int]], "tuple[int, ...] | None"]


@dataclass(frozen=True)
class Term:
    """``(symbol + offset) // divisor``."""

    #: The position of the symbol.
    symbol: int
    offset: int = 0
    divisor: int = 1

    def __call__(self, symbols: Sequence[Any]) -> Any:
        """Return its value."""
        # Keep expressions as simple as possible, since tracers store them.
        value = symbols[self.symbol] + self.offset if self.offset else symbols[self.symbol]
        return value // self.divisor if self.divisor != 1 else value


@dataclass(frozen=True)
class Formula:
    """``constant + sum(factor * term) + scale * product(terms)``."""

    constant: int
    #: The terms of the sum and their factors.
    terms: tuple[tuple[Term, int], ...] = ()
    #: The terms of the product; empty if there is none.
    product: tuple[Term, ...] = ()
    scale: int = 0

    def __call__(self, symbols: Sequence[Any]) -> Any:
        """Its value."""
        parts = [_times(factor, term(symbols)) for term, factor in self.terms]
        if self.product:
            product = functools.reduce(operator.mul, [term(symbols) for term in self.product])
            parts.append(_times(self.scale, product))
        if self.constant or not parts:
            parts.append(self.constant)
        return functools.reduce(operator.add, parts)


def _times(factor: int, value: Any) -> Any:
    return value if factor == 1 else factor * value


@dataclass(frozen=True)
class Shapes:
    """The result of the analysis."""

    #: Pairs of symbols that must be equal.
    equal: tuple[tuple[int, int], ...]
    #: Symbols that must have the value of the example.
    fixed: tuple[int, ...]
    #: The dimensions of the outputs.
    outputs: tuple[Formula, ...]


def explore(infer: Infer, example: Sequence[int]) -> Shapes:
    """Find how the dimensions of outputs depend on symbols.

    Parameters
    ----------
    infer : callable
        Infers the outputs for numbers in place of the symbols.
    example : sequence of int
        Numbers that `infer` accepts.
    """
    accepted = infer(example)
    assert accepted is not None, "the example is accepted"
    search = _Search(infer, tuple(example), accepted)
    groups, fixed = search.group()
    while True:
        found = [search.formula(at, groups) for at in range(len(accepted))]
        # Symbols whose effect a formula cannot express.
        odd = set().union(*(each for each in found if not isinstance(each, Formula)))
        outputs = tuple(each for each in found if isinstance(each, Formula))
        if not odd and search.agrees(outputs, groups):
            break
        # All symbols, if each works alone but not together.
        odd = odd or set(groups)
        fixed += [symbol for group in groups if group in odd for symbol in group]
        groups = [group for group in groups if group not in odd]
    equal = [pair for group in groups for pair in itertools.pairwise(group)]
    return Shapes(tuple(equal), tuple(sorted(fixed)), outputs)


_Group = tuple[int, ...]


class _Search:
    """A definition, and the values that it accepts beside the example."""

    def __init__(self, infer: Infer, example: tuple[int, ...], accepted: tuple[int, ...]) -> None:
        self._infer = infer
        self._example = example
        self._accepted = accepted
        self._known: dict[Hashable, tuple[int, ...] | None] = {}

    def group(self) -> tuple[list[_Group], list[int]]:
        """Return the groups of symbols that can only change together, and the symbols that cannot change."""
        free: list[_Group] = [(symbol,) for symbol in range(len(self._example)) if self._may_change((symbol,))]
        tied = [symbol for symbol in range(len(self._example)) if (symbol,) not in free]
        groups, fixed = list(free), []
        for _, same in itertools.groupby(sorted(tied, key=self._example.__getitem__), key=self._example.__getitem__):
            left = list(same)
            for first, second in itertools.combinations(tuple(left), 2):
                if first in left and second in left and self._may_change((first, second)):
                    groups.append((first, second))
                    left = [symbol for symbol in left if symbol not in (first, second)]
            if len(left) > 2 and self._may_change(tuple(left)):
                groups.append(tuple(left))
            else:
                fixed += left
        return groups, fixed

    def _may_change(self, group: _Group) -> bool:
        return len(self._moves(group)) > 1

    def _moves(self, group: _Group) -> list[int]:
        """Return the steps by which a group can move away from the example."""
        # Include a step down to 2, because definitions may treat small sizes differently.
        steps = dict.fromkeys((*_STEPS, *(2 - self._example[symbol] for symbol in group[:1])))
        return [step for step in steps if step and self._at({group: step}) is not None]

    def _at(self, moved: Mapping[_Group, int]) -> tuple[int, ...] | None:
        """Return the inferred dimensions after some groups have moved, or None if the definition refuses them."""
        numbers = self._numbers(moved)
        if numbers not in self._known:
            self._known[numbers] = self._infer(numbers)
        return self._known[numbers]

    def _numbers(self, moved: Mapping[_Group, int]) -> tuple[int, ...]:
        numbers = list(self._example)
        for group, step in moved.items():
            for symbol in group:
                numbers[symbol] += step
        return tuple(numbers)

    def _moved(self, output: int, group: _Group, step: int) -> int | None:
        """Return the change of a dimension when a group moves, or None if the ranks of the outputs change."""
        inferred = self._at({group: step})
        assert inferred is not None, "only steps that are accepted are taken"
        return inferred[output] - self._accepted[output] if len(inferred) == len(self._accepted) else None

    def formula(self, output: int, groups: Sequence[_Group]) -> Formula | set[_Group]:
        """Return the formula of a dimension, or the groups whose effect on it a formula cannot express."""
        terms: dict[_Group, tuple[Term, int]] = {}
        odd = set()
        for group in groups:
            moves = [(self._moved(output, group, step), step) for step in self._moves(group)]
            change, step = moves[0]
            if change is not None and not change % step and all(c == change // step * s for c, s in moves):
                if change:
                    terms[group] = Term(group[0]), change // step
                continue
            divided = self._divided(output, group)
            if divided is None:
                odd.add(group)
            else:
                terms[group] = divided
        if odd:
            return odd
        if len(terms) > 1 and self._multiplies(list(terms), output):
            return self._product(output, terms) or set(terms)
        constant = self._accepted[output] - sum(factor * term(self._example) for term, factor in terms.values())
        return Formula(constant, tuple(terms.values()))

    def _divided(self, output: int, group: _Group) -> tuple[Term, int] | None:
        """Return the term and factor by which a dimension grows in even steps with a group, or None."""
        first = self._example[group[0]]
        seen: dict[int, int] = {}
        jumps: list[tuple[int, int]] = []
        latest = self._accepted[output]
        for step in range(3 * _MOST_DIVISOR):
            inferred = self._at({group: step})
            if inferred is None:
                continue
            if len(inferred) != len(self._accepted):
                return None
            if inferred[output] != latest:
                jumps.append((first + step, inferred[output] - latest))
            latest = seen[step] = inferred[output]
            if len(jumps) == 3:
                break
        if len(jumps) < 2:
            return None
        (number, factor), (following, _) = jumps[:2]
        divisor = following - number
        term = Term(group[0], -number % divisor, divisor)
        changes: dict[int, int | None] = {step: value - self._accepted[output] for step, value in seen.items()}
        changes |= {step: self._moved(output, group, step) for step in self._moves(group)}
        now = term(self._example)
        holds = all(change == factor * (term(self._numbers({group: step})) - now) for step, change in changes.items())
        return (term, factor) if holds else None

    def _product(self, output: int, terms: Mapping[_Group, tuple[Term, int]]) -> Formula | None:
        """Return a dimension as a product of terms and a constant, or None if it is not one."""
        value = self._accepted[output]
        plain = [term for term, _ in terms.values()]
        # The constant may belong to the terms, as in (a + 1) * (b // 2 + 1).
        shifts = [divmod(value - factor * term(self._example), factor) for term, factor in terms.values()]
        shifted = [Term(t.symbol, t.offset + by * t.divisor, t.divisor) for t, (by, _) in zip(plain, shifts)]
        for factors in (plain, shifted):
            product = math.prod(term(self._example) for term in factors)
            worth = next(iter(terms.values()))[1] * factors[0](self._example)
            if product and not worth % product:
                found = Formula(value - worth, (), tuple(factors), worth // product)
                if self._holds(found, output, list(terms), 1) and self._holds(found, output, list(terms), 2):
                    return found
        return None

    def _holds(self, formula: Formula, output: int, groups: Sequence[_Group], number: int) -> bool:
        """Whether a formula holds for one dimension when these groups change at once."""
        moved = self._all_moved(groups, number)
        inferred = self._at(moved)
        return inferred is not None and inferred[output] == formula(self._numbers(moved))

    def _all_moved(self, groups: Sequence[_Group], number: int) -> dict[_Group, int]:
        # Use different steps, so that sizes that are equal in the example differ.
        return {group: self._moves(group)[0] * (at + number) for at, group in enumerate(groups)}

    def _multiplies(self, groups: Sequence[_Group], output: int) -> bool:
        """Whether several groups change a dimension differently than the sum of their separate changes."""
        moved = {group: self._moves(group)[0] for group in groups}
        inferred = self._at(moved)
        if inferred is None:
            return False
        apart = sum(self._moved(output, group, step) or 0 for group, step in moved.items())
        return inferred[output] - self._accepted[output] != apart

    def agrees(self, outputs: Sequence[Formula], groups: Sequence[_Group]) -> bool:
        """Whether formulas hold when all groups change at once."""
        for number in (1, 2):
            moved = self._all_moved(groups, number)
            numbers = self._numbers(moved)
            if self._at(moved) != tuple(formula(numbers) for formula in outputs):
                return False
        return True
