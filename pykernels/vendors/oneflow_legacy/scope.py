"""``flow.scope``: where the ops of a job run, which here is always the CPU of one machine, and names in a job."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence

from pykernels.base.errors import CallError
from pykernels.vendors.oneflow_legacy.missing import missing

__all__ = ["View", "consistent_view", "mirrored_view", "namespace", "placement", "prefix"]

_ONLY = ("0:0", "@0:0")
_thread = threading.local()


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


class View(contextlib.nullcontext[None]):
    """Whether devices see parts of a whole or tensors of their own; on the one device it is the same."""


def consistent_view() -> View:
    """A context in which devices see parts of a whole."""
    return View()


def mirrored_view() -> View:
    """A context in which devices have tensors of their own."""
    return View()


@contextlib.contextmanager
def namespace(name: str) -> Iterator[None]:
    """A context in which the names of variables begin with `name` and a hyphen."""
    outer = prefix()
    _thread.prefix = f"{outer}{name}-"
    try:
        yield
    finally:
        _thread.prefix = outer


def prefix() -> str:
    """What the names of variables begin with here."""
    prefix: str = getattr(_thread, "prefix", "")
    return prefix


__getattr__ = missing("flow.scope", ["consistent_view", "mirrored_view", "namespace", "placement"])
