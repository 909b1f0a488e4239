"""``flow.scope``: where the ops of a job run, which here is always the CPU of one machine."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from pykernels.errors import CallError

__all__ = ["placement"]

_ONLY = ("0:0", "@0:0")


def placement(device_tag: str, machine_device_ids: str | Sequence[str]) -> contextlib.AbstractContextManager[None]:
    """A context whose ops run on a device: only ``placement("cpu", "0:0")``, where they run anyway.

    Raises
    ------
    CallError
        It is any other device, or several.
    """
    devices = [machine_device_ids] if isinstance(machine_device_ids, str) else list(machine_device_ids)
    if device_tag != "cpu" or len(devices) != 1 or devices[0] not in _ONLY:
        raise CallError(
            f"flow.scope.placement({device_tag!r}, {machine_device_ids!r}): ops run on the CPU of one machine, "
            f"flow.scope.placement('cpu', '0:0')"
        )
    return contextlib.nullcontext()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"flow.scope.{name} is not provided by pykernels.compat.oneflow: it has placement")
