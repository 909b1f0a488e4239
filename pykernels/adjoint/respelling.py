"""Functions that are others in different words: ``np.hstack`` is ``np.concatenate``, whose derivative is known."""

from __future__ import annotations

import string
from collections.abc import Callable

import numpy as np

from pykernels.adjoint.nodes import Node, Read
from pykernels.adjoint.rules import RULES, Rule, Terms
from pykernels.base.errors import KernelError

#: By name: what returns the same in other words, or None. `RULES` has rows for them, too.
RESPELLED: dict[str, Callable[..., Node | None]] = {}


def respelled(
    names: str, *parameters: str, cure: str
) -> Callable[[Callable[..., Node | None]], Callable[..., Node | None]]:
    """Add the decorated function as what says functions with these names and parameters in other words.

    `cure` says for which calls it does.
    """

    def add(function: Callable[..., Node | None]) -> Callable[..., Node | None]:
        def refuse(read: Read, node: Node, g: Node) -> Terms:
            raise KernelError(f"np.{node.op} has a derived gradient {cure}")

        for name in names.split():
            RULES.setdefault(name, Rule(parameters, refuse))
            RESPELLED[name] = function
        return function

    return add


def _are_arrays(arrays: Node, ndim: int | None = None) -> bool:
    """Whether a node is a tuple of arrays that have one number of axes: `ndim`, if that is given."""
    known = {n for operand in arrays.operands for n in operand.ndims}
    return arrays.op == "tuple" and arrays.active and len(known) == 1 and ndim in (None, *known)


_IN_PLACE = "of arrays that are written in place, of one number of axes"


@respelled("hstack", "tup", cure=_IN_PLACE)
def _hstack(read: Read, tup: Node) -> Node | None:
    if not _are_arrays(tup):
        return None
    return read(f"np.concatenate(a, axis={0 if _are_arrays(tup, 1) else 1})", a=tup)


@respelled("vstack row_stack", "tup", cure=_IN_PLACE)
def _vstack(read: Read, tup: Node) -> Node | None:
    if not _are_arrays(tup):
        return None
    return read("np.stack(a, axis=0)" if _are_arrays(tup, 1) else "np.concatenate(a, axis=0)", a=tup)


@respelled("column_stack", "tup", cure=_IN_PLACE)
def _column_stack(read: Read, tup: Node) -> Node | None:
    if not _are_arrays(tup):
        return None
    return read("np.stack(a, axis=1)" if _are_arrays(tup, 1) else "np.concatenate(a, axis=1)", a=tup)


@respelled("array", "object", "dtype", cure="of lists of numbers, and of lists of such lists")
def _array(read: Read, object: Node, dtype: Node | None = None) -> Node | None:
    if not object.active or dtype is not None:
        return None
    if object.op != "tuple":
        return read("a.copy()", a=object)
    rows = [_array(read, row) if row.op == "tuple" and row.active else row for row in object.operands]
    names = {f"row{at}": row for at, row in enumerate(rows) if row is not None}
    return read(f"np.stack(({', '.join(names)},))", **names) if len(names) == len(rows) else None


def _flipping(axis: int) -> Callable[..., Node | None]:
    return lambda read, m: read(f"np.flip(a, axis={axis})", a=m)


for _name, _axis in (("flipud", 0), ("fliplr", 1)):
    respelled(_name, "m", cure="of arrays")(_flipping(_axis))


@respelled("average", "a", "axis", "weights", "keepdims", cure="of arrays, with weights of the same shape")
def _average(read: Read, a: Node, weights: Node | None = None, **named: Node) -> Node | None:
    keywords = "".join(f", {name}={name}" for name in named)
    if weights is None:
        return read(f"np.mean(a{keywords})", a=a, **named)
    if weights.shapes != a.shapes:
        return None
    return read(f"np.sum(a * w{keywords}) / np.sum(w{keywords})", a=a, w=weights, **named)


@respelled("ptp", "a", "axis", "keepdims", cure="of arrays")
def _ptp(read: Read, a: Node, **named: Node) -> Node:
    keywords = "".join(f", {name}={name}" for name in named)
    return read(f"np.max(a{keywords}) - np.min(a{keywords})", a=a, **named)


@respelled("select", "conditions", "choices", "default", cure="of lists that are written in place")
def _select(read: Read, conditions: Node, choices: Node, default: Node | None = None) -> Node | None:
    if conditions.op != "tuple" or choices.op != "tuple":
        return None
    found = default or read("0")
    for condition, choice in reversed(list(zip(conditions.operands, choices.operands))):
        found = read("np.where(c, a, b)", c=condition, a=choice, b=found)
    return found


@respelled("inner vdot", "a", "b", cure="of vectors")
def _inner(read: Read, a: Node, b: Node) -> Node | None:
    return read("np.dot(a, b)", a=a, b=b) if a.ndims == b.ndims == {1} else None


_OF_UFUNCS = {
    "add": ("np.add(a, b)", "np.sum"),
    "multiply": ("np.multiply(a, b)", "np.prod"),
    "maximum": ("np.maximum(a, b)", "np.max"),
    "minimum": ("np.minimum(a, b)", "np.min"),
}


def _reducing(pair: str, function: str) -> Callable[..., Node | None]:
    def reduce(read: Read, array: Node, **named: Node) -> Node | None:
        if array.op == "tuple" and array.operands and not named:
            found, *others = array.operands
            for each in others:
                found = read(pair, a=found, b=each)
            return found
        named = {"axis": read("0"), **named}
        return read(f"{function}(a{''.join(f', {name}={name}' for name in named)})", a=array, **named)

    return reduce


for _name, (_pair, _function) in _OF_UFUNCS.items():
    respelled(f"{_name}.reduce", "array", "axis", "keepdims", cure="of arrays")(_reducing(_pair, _function))


@respelled("tensordot", "a", "b", "axes", cure="of arrays that have one number of axes each")
def _tensordot(read: Read, a: Node, b: Node, axes: Node | None = None) -> Node | None:
    if len(a.ndims) > 1 or len(b.ndims) > 1:
        return None
    (n,), (m,) = a.ndims, b.ndims
    given = 2 if axes is None else axes.values[0]
    if isinstance(given, int):
        given = (range(n - given, n), range(given))
    ours, theirs = ([at % ndim for at in np.atleast_1d(each)] for each, ndim in zip(given, (n, m)))
    first, rest = string.ascii_letters[:n], iter(string.ascii_letters[n:])
    second = "".join(first[ours[theirs.index(at)]] if at in theirs else next(rest) for at in range(m))
    result = "".join(each for each in first + second if (each in first) != (each in second))
    return read(f"np.einsum('{first},{second}->{result}', a, b)", a=a, b=b)


@respelled("diff", "a", "n", "axis", cure="with a number n that is written in place")
def _diff(read: Read, a: Node, n: Node | None = None, axis: Node | None = None) -> Node | None:
    if n is None or not isinstance(n.number, int) or n.number < 1:
        return None
    keywords, named = ("", {}) if axis is None else (", axis=axis", {"axis": axis})
    for _ in range(n.number):
        a = read(f"np.diff(a{keywords})", a=a, **named)
    return a


@respelled("einsum", "subscripts", *"abcdefgh", cure="of up to eight arrays")
def _einsum(read: Read, subscripts: Node, **arrays: Node) -> Node | None:
    """Return the sum with the axes of its result, in the order of their letters."""
    text = str(subscripts.values[0]).replace(" ", "")
    if "->" in text:
        return None
    once = sorted(letter for letter in set(text) - set(",.") if text.count(letter) == 1)
    result = ("..." if "..." in text else "") + "".join(once)
    return read(f"np.einsum('{text}->{result}', {', '.join(arrays)})", **arrays)
