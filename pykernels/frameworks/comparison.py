"""Compare two results as exactly as their dtype allows."""

from __future__ import annotations

from typing import Any

import numpy as np

#: The relative tolerance of results, by the size in bytes of a real number.
TOLERANCES = {2: 3e-3, 4: 3e-6, 8: 1e-13}
# How many times the distance between plain NumPy's result and the exact one, and how many times the rounding errors,
# the distance of another result may be.
_FARTHER = 8


def difference(
    name: str,
    found: np.ndarray,
    expected: np.ndarray,
    exact: np.ndarray | None = None,
    *,
    allowed: float | None = None,
    errors: np.ndarray | None = None,
    is_elementwise: bool = False,
) -> str | None:
    """Return a message about the difference of two results; None if there is none.

    Parameters
    ----------
    name : str
        The name of the array in messages.
    found, expected : ndarray
    exact : ndarray, optional
        `expected`, computed in a wider dtype. `found` may be far from it where `expected` is, as where a sum overflows
        in one order but not in another.
    allowed : float, optional
        By how much each number may differ; by default the tolerance of its dtype in `TOLERANCES`.
    errors : ndarray, optional
        How far rounding errors may move `exact`: results may differ by a multiple of it, and in any way where it is
        infinite.
    is_elementwise : bool
        Whether each number is computed independently. Otherwise a small number may be the difference of large ones,
        with few correct digits.
    """
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"{name} is {found.dtype}{list(found.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if not found.size:
        return None
    is_wrong = ~_alike(found, expected, exact, allowed, errors, is_elementwise)
    if not is_wrong.any():
        return None
    at = np.unravel_index(int(np.argmax(is_wrong)), is_wrong.shape)
    place = f"[{', '.join(map(str, at))}]" if at else ""
    more = f", and {is_wrong.sum() - 1} more of {found.size}" if is_wrong.sum() > 1 else ""
    return f"{name}{place} is {found[at]} instead of {expected[at]}{more}"


def _alike(
    found: np.ndarray,
    expected: np.ndarray,
    exact: np.ndarray | None,
    allowed: float | None,
    errors: np.ndarray | None,
    is_elementwise: bool,
) -> np.ndarray:
    same = _equal(found, expected)
    if expected.dtype.kind not in "fc":
        return same
    real = np.finfo(expected.dtype)
    wide = np.clongdouble if expected.dtype.kind == "c" else np.longdouble
    with np.errstate(all="ignore"):
        ours, theirs = found.astype(wide), expected.astype(wide)
        limit: Any = allowed
        if limit is None:
            # Treat numbers close to the smallest normal number as 0, since they have few digits.
            size = np.abs(theirs)
            if not is_elementwise:
                size = np.max(size, initial=1, where=np.isfinite(size))
            limit = TOLERANCES[real.dtype.itemsize] * size + 4 * float(real.tiny)
        if exact is None or exact.shape != expected.shape:
            return np.asarray(same | (np.abs(ours - theirs) <= limit))
        truth = exact.astype(wide)
        if errors is not None:
            same |= np.isinf(errors)
            limit = limit + _FARTHER * errors
        close = np.abs(ours - theirs) <= limit
        # Ignore an `expected` that is not finite where the exact result is.
        is_lost = ~np.isfinite(theirs) & np.isfinite(truth)
        is_near = np.abs(ours - truth) <= _FARTHER * np.abs(theirs - truth) + limit
        close |= is_lost | is_near | _equal(found, exact.astype(expected.dtype))
    return np.asarray(same | close)


def _equal(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.asarray((one == other) | ((one != one) & (other != other)))
