"""Detect whether a call is part of a training pass, which OneFlow does not tell ops."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Sequence
from typing import Any

from pykernels.frameworks.training import mode_of_module


def is_training(tensors: Sequence[Any]) -> bool:
    """Whether a call on `tensors` is part of a training pass.

    In the ``forward`` of a module, the mode of the module decides (``module.train()``, ``module.eval()``), as with
    OneFlow's own layers. Elsewhere a call is part of a training pass in a graph with an optimizer, or if it is recorded
    for gradients.
    """
    flow = sys.modules["oneflow"]
    mode = mode_of_module(sys._getframe(1), (flow.nn.Module, _stand_in()))
    if mode is not None:
        return mode
    if flow._oneflow_internal.lazy_mode.is_enabled():
        job = importlib.import_module("oneflow.framework.c_api_util").GetCurrentJob()
        return bool(job.job_conf.HasField("train_conf"))
    return flow.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


@functools.cache
def _stand_in() -> Any:
    """Return the type of a graph's proxies of modules, on which it runs the modules' ``forward``."""
    try:
        return importlib.import_module("oneflow.nn.graph.block").Block
    except ModuleNotFoundError:  # since 0.9
        return importlib.import_module("oneflow.nn.graph.proxy").ProxyModule
