"""A stand-in for ``torch_xla.core.xla_model``: one device, the CPU, which computes at once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from pykernels.vendors.providing import missing, public


def xla_device(n: int | None = None, devkind: str | None = None) -> torch.device:
    """Return the CPU."""
    return torch.device("cpu")


def mark_step(wait: bool = False) -> None:
    """Do nothing: every operator has computed its result."""


def wait_device_ops(devices: Any = ()) -> None:
    """Do nothing, as `mark_step`."""


def optimizer_step(
    optimizer: torch.optim.Optimizer, barrier: bool = False, optimizer_args: dict[str, Any] | None = None
) -> Any:
    """Call ``optimizer.step`` and return its result; one device has no gradients to add up."""
    step: Callable[..., Any] = optimizer.step
    return step(**(optimizer_args or {}))


def get_ordinal() -> int:
    """Return the number of this process, 0."""
    return 0


def xrt_world_size() -> int:
    """Return the number of processes, 1."""
    return 1


def is_master_ordinal(local: bool = True) -> bool:
    """Return whether this process is the first one, as it is."""
    return True


def master_print(*args: Any, **kwargs: Any) -> None:
    """Call `print`."""
    print(*args, **kwargs)


def save(data: Any, file_or_path: Any, master_only: bool = True, global_master: bool = False) -> None:
    """Call `torch.save`."""
    torch.save(data, file_or_path)


__getattr__ = missing("torch_xla.core.xla_model", public(sys.modules[__name__]), __name__)
