"""Possible types of the inputs of a new op, the most likely first."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from pykernels.base.errors import CallError
from pykernels.tools.new.axes import Tensor, names_in
from pykernels.tools.new.source import Source

_NAMES = "nmkpqr"
# The most named axes in all inputs together, and in one.
_MOST, _MOST_IN_ONE = 6, 4
_DTYPES = ("floating", "integer", "bool")


def possible_inputs(source: Source, *, has_axis: bool) -> Iterator[tuple[Tensor, ...]]:
    """Yield possible types of all inputs: all floating, then with integers or truth values among them.

    Parameters
    ----------
    has_axis : bool
        Whether an attribute may select an axis of the inputs.

    Raises
    ------
    CallError
        The source gives an input a type that is none.
    """
    _check_names(source)
    for dtypes in _dtypes(source):
        if has_axis and not source.types:
            yield tuple(Tensor(name, word, ("... with axis = n",)) for name, word in zip(source.inputs, dtypes))
        yield from _hypotheses(source, dtypes)


def _check_names(source: Source) -> None:
    """Raise `CallError` if a formula has a name that is neither an axis nor an attribute."""
    given = {name: _given(source, name) for name in source.types}
    axes = [axis for each in given.values() if each for axis in each.named]
    known = {*axes, *(each.name for each in source.attributes)}
    for name, each in given.items():
        for axis in each.named if each else ():
            for unknown in [part for part in names_in(axis) if part not in known]:
                raise CallError(
                    f"{source.where}: {source.types[name]!r}, the type of {name}: no axis or attribute is called "
                    f"{unknown}. Name this axis {unknown} instead of {axis}: what it must be a multiple of is found"
                )


def _given(source: Source, name: str) -> Tensor | None:
    """Return the input with the type that its source gives it."""
    if name not in source.types:
        return None
    dtype, _, axes = source.types[name].rstrip("] ").partition("[")
    items = tuple(each.strip() for each in axes.split(",") if each.strip())
    for item in items:
        if item != "..." and (item == "broadcast" or not re.fullmatch(r"[\w\s+*/%()-]+", item)):
            raise CallError(
                f"{source.where}: {source.types[name]!r}, the type of {name}, needs names, formulas or '...' as axes"
            )
    if "..." in items[1:]:
        raise CallError(f"{source.where}: {source.types[name]!r}, the type of {name}: '...' stands before other axes")
    return Tensor(name, dtype, items)


def _dtypes(source: Source) -> Iterator[tuple[str, ...]]:
    """Yield words for the dtypes of inputs: all floating, then integers or truth values among them."""
    given = [_given(source, name) for name in source.inputs]
    choices = [[each.dtype] if each else _DTYPES for each in given]
    yield from sorted(itertools.product(*choices), key=lambda words: sorted(map(_rank_of_dtype, words), reverse=True))


def _rank_of_dtype(word: str) -> int:
    return _DTYPES.index(word) if word in _DTYPES else 0


def _hypotheses(source: Source, dtypes: Sequence[str]) -> Iterator[tuple[Tensor, ...]]:
    """Yield inputs of these dtypes, the most general first: many of any number of axes, then matrices."""
    given = [_given(source, name) for name in source.inputs]
    taken = dict.fromkeys(name for each in given if each for axis in each.named for name in names_in(axis))
    for each in source.attributes:
        taken.pop(each.name, None)
    free = [name for name, each in zip(source.inputs, given) if each is None]
    others = {*source.inputs, *source.outputs, *(each.name for each in source.attributes), *taken}
    names = [*taken, *(each for each in _NAMES if each not in others)]
    found = []
    most = _MOST if len(free) < 4 else 4
    for leads in itertools.product((True, False), repeat=len(free)):
        for counts in itertools.product(range(_MOST_IN_ONE + 1), repeat=len(free)):
            # An array of one number is rarely meant.
            if sum(counts) <= most and all(count or lead for count, lead in zip(counts, leads)):
                found += [(leads, counts, named) for named in _namings(sum(counts), len(taken), len(names))]
    words = dict(zip(source.inputs, dtypes))
    # A tensor is often a matrix, and indices are often a vector.
    natural = [2 if words[name] == "floating" else 1 for name in free]
    found.sort(key=lambda each: _rank(each[0], each[1], each[2], natural))
    for leads, counts, named in found:
        axes = iter([names[at] for at in named])
        made = {
            name: (("...",) if lead else ()) + tuple(itertools.islice(axes, count))
            for name, lead, count in zip(free, leads, counts)
        }
        yield tuple(each or Tensor(n, words[n], made[n]) for n, each in zip(source.inputs, given))


def _rank(
    leads: Sequence[bool], counts: Sequence[int], named: Sequence[int], natural: Sequence[int]
) -> tuple[int, ...]:
    unusual = sum(abs(count - usual) for lead, count, usual in zip(leads, counts, natural) if not lead)
    after_leads = sum(count for lead, count in zip(leads, counts) if lead)
    return (-sum(leads), unusual, after_leads, sum(counts), -len(set(named)), *named)


def _namings(count: int, known: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to number `count` axes in which a new number follows those before it; `known` exist already."""

    def extended(named: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(named) == count:
            yield named
            return
        for each in range(min(max((known - 1, *named)) + 2, most)):
            yield from extended((*named, each))

    return extended(())
