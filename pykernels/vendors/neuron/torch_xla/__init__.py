"""A stand-in for ``torch_xla``, whose device "xla" is the CPU here.

While this is imported, functions of PyTorch take the CPU where a script names the device "xla".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from pykernels.vendors.neuron.torch_xla.core import xla_model
from pykernels.vendors.neuron.torch_xla.core.xla_model import mark_step as sync
from pykernels.vendors.neuron.torch_xla.core.xla_model import xla_device as device
from pykernels.vendors.providing import missing

__all__ = ["device", "sync", "xla_model"]


class _OnCpu(TorchFunctionMode):  # type: ignore[misc]
    """Puts the CPU in the place of the device "xla" in all calls of PyTorch."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Collection[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = {name: _on_cpu(value) for name, value in (kwargs or {}).items()}
        return function(*map(_on_cpu, args), **given)


def _on_cpu(value: Any) -> Any:
    if isinstance(value, str):
        return "cpu" if value.partition(":")[0] == "xla" else value
    return torch.device("cpu") if isinstance(value, torch.device) and value.type == "xla" else value


_OnCpu().__enter__()

__getattr__ = missing("torch_xla", ["core.xla_model", "device", "sync"], __name__)
