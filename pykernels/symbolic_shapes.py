"""What a definition infers from shapes that are not known yet: found out by trying.

Definitions compute with numbers. Tracers have symbols in their place, each with a number as its example. So a
definition is asked again and again, with other numbers for the symbols, until it is known which of them must be equal,
which must be the very number of the example, and how the dimensions of the outputs come from the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Formula", "Shapes", "explore"]

# Added to the example of a symbol. The first are multiples of every number up to 10, for definitions that divide.
_STEPS = (2520, 5040, 1, 7)

#: The dimensions of all outputs one after the other, or None if the definition refuses the inputs.
Infer = Callable[[Sequence[int]], "tuple[int, ...] | None"]


@dataclass(frozen=True)
class Formula:
    """A dimension of an output: ``constant + sum(factor * symbol) + scale * product(symbols)``.

    Attributes
    ----------
    constant : int
    terms : tuple of (int, int)
        Pairs of a symbol, by its position, and its factor.
    product : tuple of int
        Symbols that are multiplied, none for no product.
    scale : int
    """

    constant: int
    terms: tuple[tuple[int, int], ...] = ()
    product: tuple[int, ...] = ()
    scale: int = 0

    def __call__(self, symbols: Sequence[Any]) -> Any:
        """Its value, for numbers or whatever else can be added and multiplied."""
        total: Any = self.constant
        for position, factor in self.terms:
            term = symbols[position] if factor == 1 else factor * symbols[position]
            total = term if isinstance(total, int) and total == 0 else total + term
        if self.product:
            product: Any = self.scale
            for position in self.product:
                product = (
                    symbols[position] if isinstance(product, int) and product == 1 else product * symbols[position]
                )
            total = product if isinstance(total, int) and total == 0 else total + product
        return total


@dataclass(frozen=True)
class Shapes:
    """What has been found out.

    Attributes
    ----------
    equal : tuple of (int, int)
        Pairs of symbols that must be equal.
    fixed : tuple of int
        Symbols that must be what they are in the example.
    outputs : tuple of Formula
        The dimensions of the outputs.
    """

    equal: tuple[tuple[int, int], ...]
    fixed: tuple[int, ...]
    outputs: tuple[Formula, ...]


def explore(infer: Infer, example: Sequence[int]) -> Shapes:
    """How the dimensions of outputs depend on symbols.

    Parameters
    ----------
    infer : callable
        Infers from numbers for the symbols.
    example : sequence of int
        Numbers that `infer` accepts.
    """
    accepted = infer(example)
    assert accepted is not None, "the example is accepted"
    search = _Search(infer, tuple(example), accepted)
    groups, fixed = search.group()
    while True:
        found = [search.formula(at, groups) for at in range(len(accepted))]
        # Symbols that come in otherwise than in the ways of a formula.
        odd = set().union(*(each for each in found if not isinstance(each, Formula)))
        outputs = tuple(each for each in found if isinstance(each, Formula))
        if not odd and search.agrees(outputs, groups):
            break
        # All, if each does well by itself but they do not together.
        odd = odd or set(groups)
        fixed += [symbol for group in groups if group in odd for symbol in group]
        groups = [group for group in groups if group not in odd]
    equal = [pair for group in groups for pair in itertools.pairwise(group)]
    return Shapes(tuple(equal), tuple(sorted(fixed)), outputs)


_Group = tuple[int, ...]


class _Search:
    """A definition, and what it accepts beside the example."""

    def __init__(self, infer: Infer, example: tuple[int, ...], accepted: tuple[int, ...]) -> None:
        self._infer = infer
        self._example = example
        self._accepted = accepted
        self._known: dict[Hashable, tuple[int, ...] | None] = {}

    def group(self) -> tuple[list[_Group], list[int]]:
        """Symbols that may change together with none but each other, and those that may not change at all."""
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
        """The steps by which a group can be moved away from the example."""
        # Down to 2 as well, because definitions may tell small from large.
        steps = dict.fromkeys((*_STEPS, *(2 - self._example[symbol] for symbol in group[:1])))
        return [step for step in steps if step and self._at({group: step}) is not None]

    def _at(self, moved: Mapping[_Group, int]) -> tuple[int, ...] | None:
        """What is inferred with some groups moved."""
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
        """By how much a dimension changes with a group, or None if the outputs have other ranks then."""
        inferred = self._at({group: step})
        assert inferred is not None, "only steps that are accepted are taken"
        return inferred[output] - self._accepted[output] if len(inferred) == len(self._accepted) else None

    def formula(self, output: int, groups: Sequence[_Group]) -> Formula | set[_Group]:
        """How a dimension comes from the groups, or those from which it does in another way than a formula can say."""
        terms = []
        odd = set()
        for group in groups:
            moves = [(self._moved(output, group, step), step) for step in self._moves(group)]
            change, step = moves[0]
            if change is None or change % step or any(c != change // step * s for c, s in moves):
                odd.add(group)
            elif change:
                terms.append((group, change // step))
        if odd:
            return odd
        value = self._accepted[output]
        symbols = tuple(group[0] for group, _ in terms)
        if len(terms) > 1 and self._multiplies([group for group, _ in terms], output):
            product = 1
            for symbol in symbols:
                product *= self._example[symbol]
            rest = [terms[0][1] * self._example[symbols[0]], product]
            if not product or rest[0] % product:
                return {group for group, _ in terms}
            return Formula(value - rest[0], (), symbols, rest[0] // product)
        constant = value - sum(factor * self._example[group[0]] for group, factor in terms)
        return Formula(constant, tuple((group[0], factor) for group, factor in terms))

    def _multiplies(self, groups: Sequence[_Group], output: int) -> bool:
        """Whether a dimension changes otherwise with several groups than with each by itself."""
        moved = {group: self._moves(group)[0] for group in groups}
        inferred = self._at(moved)
        if inferred is None:
            return False
        apart = sum(self._moved(output, group, step) or 0 for group, step in moved.items())
        return inferred[output] - self._accepted[output] != apart

    def agrees(self, outputs: Sequence[Formula], groups: Sequence[_Group]) -> bool:
        """Whether formulas hold when all groups change at once."""
        for number in range(2):
            # Different steps, so that what is equal in the example differs.
            moved = {group: self._moves(group)[0] * (at + 1 + number) for at, group in enumerate(groups)}
            numbers = self._numbers(moved)
            if self._at(moved) != tuple(formula(numbers) for formula in outputs):
                return False
        return True
