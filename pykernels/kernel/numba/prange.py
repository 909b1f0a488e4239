"""``pykernels.prange``: the iterations of a loop do not depend on each other; see `iterations`."""

from __future__ import annotations

__all__ = ["prange"]


def prange(*limits: int) -> range:
    """``range(stop)`` or ``range(start, stop)``, whose iterations may run in any order, at the same time.

    For the one outermost loop of a kernel that takes ``outs``: each iteration writes elements of its own, and reads
    nothing that another one writes.

    Parameters
    ----------
    *limits : int
        As those of `range`, without a step.
    """
    if not 1 <= len(limits) <= 2:
        raise TypeError(f"prange takes stop, or start and stop, but was given {len(limits)} arguments")
    return range(*limits)
