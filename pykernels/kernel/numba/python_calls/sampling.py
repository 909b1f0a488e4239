"""Find what a function returns, by running it on samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from pykernels.kernel.python_calls import Description, describe

# The lengths of arrays, cut to their ranks: functions may drop axes of length one, or refuse other shapes.
_LENGTHS = ([2] * 32, [3] * 32, [1] * 32, [2, 3, 1, 4] * 8, [0] * 32)
_WHOLE_NUMBERS = (1, 2, 0)
_AxisError = np.exceptions.AxisError if hasattr(np, "exceptions") else np.AxisError


class Refused(Exception):
    """A call cannot be left to Python; the message goes on after "is not compiled".

    `is_certain` says that the call itself is wrong, whatever the values and lengths.
    """

    is_certain = False


def result_of(
    function: Callable[..., Any],
    given: Sequence[Description],
    named: Sequence[tuple[str, Description]],
    *,
    may_share: bool,
) -> Description:
    """Return the description of a function's result for arguments of these descriptions.

    Parameters
    ----------
    may_share : bool
        Whether the result may be a view of an argument: nobody changes either.

    Raises
    ------
    Refused
        The result's type depends on more than the types of the arguments, or the function raises for all samples.
    """
    found: dict[Description, None] = {}
    problem: Exception | None = None
    is_shared = False
    state = np.random.get_state()
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for rule in product(_LENGTHS, (False, True), _WHOLE_NUMBERS, (False, True)):
                try:
                    positional = [_sample(each, *rule) for each in given]
                    keywords = {name: _sample(each, *rule) for name, each in named}
                    result = function(*positional, **keywords)
                    found[describe(result)] = None
                except Exception as error:
                    problem = problem or error
                else:
                    is_shared = is_shared or _share([*positional, *keywords.values()], result)
    finally:
        np.random.set_state(state)
    if not found:
        refusal = Refused(f", and raises {type(problem).__name__} in Python: {problem}")
        refusal.is_certain = isinstance(problem, (TypeError, _AxisError))
        raise refusal
    if len(found) > 1:
        raise Refused(", and the dtype or the number of axes of its result depends on values or lengths")
    if is_shared and not may_share:
        raise Refused(", and returns a view of an array that may change")
    return next(iter(found))


def _sample(description: Description, lengths: Sequence[int], is_mixed: bool, whole: int, is_numpys: bool) -> Any:
    kind, content, *rest = description
    if kind == "value":
        return content
    if kind == "tuple":
        return tuple(_sample(each, lengths, is_mixed, whole, is_numpys) for each in content)
    dtype = np.dtype(content)
    if kind == "dtype":
        return dtype
    if kind != "array":
        number = dtype.type(whole if dtype.kind in "iub" else 0.5)
        return number.item() if kind == "python" and not is_numpys else number
    array = np.array(list(_values(tuple(lengths[: rest[0]]), is_mixed))).astype(dtype).reshape(lengths[: rest[0]])
    array.flags.writeable = False
    return array


def _values(shape: tuple[int, ...], is_mixed: bool) -> Iterator[int]:
    """Yield elements: a regular matrix, or numbers of both signs, whose eigenvalues are complex."""
    for place in np.ndindex(shape):
        row, column = (1, *place)[-2:] if place else (1, 1)
        yield row - column if is_mixed else 1 + 3 * (row == column)


def _share(given: Any, result: Any) -> bool:
    return any(np.may_share_memory(one, other) for one in _arrays(given) for other in _arrays(result))


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _arrays(each)
