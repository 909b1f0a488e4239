"""Define ``flow.scope``: the placement of ops, which is always the CPU of one machine, and prefixes of names."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence

from pykernels.base.errors import CallError
from pykernels.vendors.providing import missing

_ONLY = ("0:0", "@0:0")
_thread = threading.local()


def placement(device_tag: str, machine_device_ids: str | Sequence[str]) -> contextlib.AbstractContextManager[None]:
    """Return a context that places ops on the CPU, ``placement("cpu", "0:0")``; raise CallError for other devices."""
    devices = [machine_device_ids] if isinstance(machine_device_ids, str) else list(machine_device_ids)
    if device_tag != "cpu" or len(devices) != 1 or devices[0] not in _ONLY:
        raise CallError(
            f"flow.scope.placement({device_tag!r}, {machine_device_ids!r}): ops run on the CPU of one machine, "
            f"flow.scope.placement('cpu', '0:0')"
        )
    return contextlib.nullcontext()


class View(contextlib.nullcontext[None]):
    """The context of tensors on several devices, shared or separate, which makes no difference on one device."""


consistent_view = mirrored_view = View


@contextlib.contextmanager
def namespace(name: str) -> Iterator[None]:
    """Prefix the names of variables with `name` and a hyphen inside the context."""
    outer = prefix()
    _thread.prefix = f"{outer}{name}-"
    try:
        yield
    finally:
        _thread.prefix = outer


def prefix() -> str:
    """Return the current prefix of the names of variables."""
    prefix: str = getattr(_thread, "prefix", "")
    return prefix


__getattr__ = missing("flow.scope", ["consistent_view", "mirrored_view", "namespace", "placement"], __name__)
