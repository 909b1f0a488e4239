"""Whether a call of an op is part of a training pass, which OneFlow does not tell its ops."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from collections.abc import Sequence
from typing import Any

__all__ = ["is_training"]


def is_training(tensors: Sequence[Any]) -> bool:
    """Whether a call on `tensors` is one of a training pass.

    In the ``forward`` of a module it is if the module is in training mode (``module.train()``, ``module.eval()``), as
    with OneFlow's own layers. Elsewhere it is in a graph with an optimizer, or if it is recorded for gradients.
    """
    mode = _mode_of_module()
    if mode is not None:
        return mode
    flow = sys.modules["oneflow"]
    if flow._oneflow_internal.lazy_mode.is_enabled():
        job = importlib.import_module("oneflow.framework.c_api_util").GetCurrentJob()
        return bool(job.job_conf.HasField("train_conf"))
    return flow.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _mode_of_module() -> bool | None:
    """The mode of the innermost module whose ``forward`` is running; None if there is none."""
    kinds = (sys.modules["oneflow"].nn.Module, _stand_in())
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "forward" and frame.f_code.co_argcount:
            owner = frame.f_locals.get(frame.f_code.co_varnames[0])
            if isinstance(owner, kinds):
                return bool(owner.training)
        frame = frame.f_back
    return None


@functools.cache
def _stand_in() -> Any:
    """The type of what stands for a module in a graph, which runs the module's ``forward`` on it."""
    try:
        return importlib.import_module("oneflow.nn.graph.block").Block
    except ModuleNotFoundError:  # since 0.9
        return importlib.import_module("oneflow.nn.graph.proxy").ProxyModule
