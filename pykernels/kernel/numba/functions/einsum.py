"""``np.einsum``, parsed while compiling into contractions of pairs of operands, and views."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types as nb

from pykernels.kernel.numba.functions.contraction import (
    Labels,
    contraction,
    conversion,
    finisher,
    fits,
    sampled,
    store,
    view,
)
from pykernels.kernel.numba.implementing import compiled, implements, is_array, require_known

# The length of all axes when NumPy chooses the order of contractions; the lengths at run time are not known.
_LENGTH = 16


@dataclass(frozen=True)
class _Operand:
    """An operand, or the result of a contraction: its labels, and a function that computes it from all operands."""

    labels: Labels
    compute: Any


@implements(np.einsum)
def einsum(
    subscripts: Any,
    a: Any,
    b: Any = None,
    c: Any = None,
    d: Any = None,
    e: Any = None,
    f: Any = None,
    further: Any = None,
    out: Any = None,
    dtype: Any = None,
    order: Any = "K",
    casting: Any = "safe",
    optimize: Any = False,
) -> Any:
    """Sum the products of operands with labelled axes."""
    operands = [each for each in (a, b, c, d, e, f) if each is not None]
    if further is not None or not all(map(is_array, operands)):
        return None
    require_known(subscripts, "the rank of a sum")
    if not isinstance(subscripts, str):
        return None
    optimize = optimize if isinstance(optimize, (bool, str)) else False
    result = sampled(np.einsum, subscripts, *operands, dtype=dtype, casting=casting, optimize=optimize)
    if result is None or (out is not None and not fits(out, result)):
        return None
    *inputs, output = parse(subscripts, [each.ndim for each in operands])
    if len(operands) == 1 and set(inputs[0]) == set(output):
        made = _view(output, inputs[0], operands[0], result.dtype)
    else:
        given = [_leaf(at, *each, result.dtype) for at, each in enumerate(zip(inputs, operands))]
        for places in _path(subscripts, operands):
            taken = [given.pop(place) for place in sorted(places, reverse=True)]
            while len(taken) > 1:
                left, right = taken.pop(), taken.pop()
                later = [each.labels for each in (*given, *taken)]
                taken.append(_pair(left, right, _kept(left, right, later, output), result.dtype))
            given += taken
        made = _sum(given[0], output, result.dtype).compute
    finish = finisher(result)
    compute = compiled(lambda operands: finish(made(operands)))
    names = ", ".join("abcdef"[: len(operands)])
    source = f"lambda {names}: compute(({names},))"
    if out is not None:
        source = f"lambda {names}, out: store(out, compute(({names},)))"
    implementation: Any = eval(source, {"compute": compute, "store": store})
    return implementation


def parse(subscripts: str, ranks: Sequence[int]) -> list[Labels]:
    """Return the labels of each operand and of the result. The axes of an ellipsis are numbered from the last, -1."""
    terms, arrow, output = subscripts.replace(" ", "").partition("->")
    operands = [_labels(term, rank - len(term.replace("...", ""))) for term, rank in zip(terms.split(","), ranks)]
    shared = max(sum(isinstance(label, int) for label in labels) for labels in operands)
    if not arrow:
        letters = terms.replace(",", "").replace("...", "")
        output = "..." + "".join(letter for letter in sorted(letters) if letters.count(letter) == 1)
    return [*operands, _labels(output, shared)]


def _labels(term: str, length: int) -> Labels:
    before, dots, after = term.partition("...")
    return (*before, *(range(-length, 0) if dots else ()), *after)


def _path(subscripts: str, operands: Sequence[nb.Array]) -> list[Any]:
    """Return the places of the operands of each contraction, whose result becomes the last operand."""
    if len(operands) < 3:
        return [tuple(range(len(operands)))]
    arrays = [np.broadcast_to(1.0, (_LENGTH,) * each.ndim) for each in operands]
    return list(np.einsum_path(subscripts, *arrays, optimize="greedy")[0][1:])


def _leaf(at: int, labels: Labels, type_: nb.Array, dtype: np.dtype) -> _Operand:
    convert = conversion(type_, dtype)
    return _Operand(labels, compiled(lambda operands: convert(operands[at])))


def _view(output: Labels, labels: Labels, type_: nb.Array, dtype: np.dtype) -> Any:
    turned, convert = view(output, labels), conversion(type_.copy(layout="A", ndim=len(output)), dtype)
    return compiled(lambda operands: convert(turned(operands[0])))


def _kept(left: _Operand, right: _Operand, later: Sequence[Labels], output: Labels) -> Labels:
    """Return the labels of a pair's product: in the order of the output if there are no later operands."""
    if not later:
        return output
    needed = {*output, *itertools.chain(*later)}
    return tuple(label for label in dict.fromkeys((*left.labels, *right.labels)) if label in needed)


def _pair(left: _Operand, right: _Operand, kept: Labels, dtype: np.dtype) -> _Operand:
    """Multiply two operands; an axis that only one of them has is summed before."""
    left = _sum(left, tuple(dict.fromkeys(each for each in left.labels if each in {*kept, *right.labels})), dtype)
    right = _sum(right, tuple(dict.fromkeys(each for each in right.labels if each in {*kept, *left.labels})), dtype)
    multiply = contraction(kept, (left.labels, right.labels), dtype)
    compute_left, compute_right = left.compute, right.compute
    return _Operand(kept, compiled(lambda operands: multiply(compute_left(operands), compute_right(operands))))


def _sum(operand: _Operand, kept: Labels, dtype: np.dtype) -> _Operand:
    """Sum over the axes of an operand that are not kept."""
    if set(operand.labels) == set(kept):
        return operand
    add, compute = contraction(kept, (operand.labels,), dtype), operand.compute
    return _Operand(kept, compiled(lambda operands: add(compute(operands))))
