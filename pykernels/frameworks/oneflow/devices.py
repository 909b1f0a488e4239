"""Refuse devices of missing GPUs, for which OneFlow would end the process."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from pykernels.base.refusals import RefusedCall

#: OneFlow's functions that take a device. Its other functions with a device call these.
_FUNCTIONS = ("arange", "constant", "copy", "empty", "eye", "normal", "tensor", "to")
_RANDOM_FUNCTIONS = ("rand", "randint", "randn", "randperm")
_METHODS = ("cuda", "to")


@functools.cache  # once for a process
def refuse_missing() -> None:
    """Make these functions raise `RuntimeError` instead, on a machine without a GPU that OneFlow can use."""
    flow = sys.modules["oneflow"]
    if flow.cuda.is_available():
        return
    for name in (*_FUNCTIONS, *_RANDOM_FUNCTIONS):
        function = getattr(flow._C, name, None)
        if function is None:
            continue
        refusing = _refusing(function, name)
        # Some are also names of the package itself.
        for owner in (flow._C, flow):
            if getattr(owner, name, None) is function:
                setattr(owner, name, refusing)
    for name in _METHODS:
        setattr(flow.Tensor, name, _refusing(getattr(flow.Tensor, name), name))


def _refusing(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    device_type = sys.modules["oneflow"].device

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = "cuda" if name == "cuda" else kwargs.get("device")
        for value in (given, *args[1:2]):
            if isinstance(value, device_type):
                value = value.type
            if isinstance(value, str) and value.partition(":")[0] == "cuda":
                raise RefusedCall(
                    f"{name}: there is no device {value!r}: OneFlow finds no GPU that it can use "
                    "(flow.cuda.is_available() is False)"
                )
        return function(*args, **kwargs)

    return call
