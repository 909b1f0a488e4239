"""Define ``pykernels.prange``, which declares that the iterations of a loop are independent; see `iterations`."""

from __future__ import annotations


def prange(*limits: int) -> range:
    """Return ``range(stop)`` or ``range(start, stop)``, whose iterations may run in any order and at the same time.

    Use it for the one outermost loop of a kernel that takes ``outs``. Each iteration must write its own elements, and
    must not read what another one writes.

    Parameters
    ----------
    *limits : int
        The limits, as for `range`, but without a step.
    """
    if not 1 <= len(limits) <= 2:
        raise TypeError(f"prange takes stop, or start and stop, but was given {len(limits)} arguments")
    return range(*limits)
