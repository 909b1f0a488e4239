"""Formulas for the dimensions of outputs, evaluated on numbers or on symbols that can be added and multiplied."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Term:
    """``(symbol + offset) // divisor``.

    Attributes
    ----------
    symbol : int
        The position of the symbol.
    offset, divisor : int
    """

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
    """``constant + sum(factor * term) + scale * product(terms)``.

    Attributes
    ----------
    constant : int
    terms : tuple of (Term, int)
        The terms of the sum and their factors.
    product : tuple of Term
        The terms of the product; empty if there is none.
    scale : int
    """

    constant: int
    terms: tuple[tuple[Term, int], ...] = ()
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
