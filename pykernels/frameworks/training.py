"""Detect whether the module whose ``forward`` makes a call is in training mode."""

from __future__ import annotations

import types


def mode_of_module(frame: types.FrameType | None, kinds: type | tuple[type, ...]) -> bool | None:
    """Return the mode of the innermost module whose ``forward`` is running; None if there is none.

    Parameters
    ----------
    frame : frame
        The innermost frame to search.
    kinds : type or tuple of type
        The types of modules.
    """
    while frame is not None:
        if frame.f_code.co_name == "forward" and frame.f_code.co_argcount:
            owner = frame.f_locals.get(frame.f_code.co_varnames[0])
            if isinstance(owner, kinds):
                return bool(owner.training)  # type: ignore[attr-defined]
        frame = frame.f_back
    return None
