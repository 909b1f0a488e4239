"""Detect whether a call is part of a training pass, for calls that do not say so."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch

from pykernels.base.refusals import RefusedCall
from pykernels.frameworks.training import mode_of_module


def is_training(tensors: Sequence[Any]) -> bool:
    """Whether a call on `tensors` is part of a training pass.

    In the ``forward`` of a module, the mode of the module decides (``module.train()``, ``module.eval()``), as with
    PyTorch's own layers. Elsewhere a call is part of a training pass if it is recorded for gradients.

    Raises
    ------
    RefusedCall
        The call is being compiled, and a compiler cannot see frames.
    """
    if torch.compiler.is_dynamo_compiling():
        raise RefusedCall(
            "what is compiled cannot see whether it is part of training: call the operator of torch.ops with is_train="
        )
    mode = mode_of_module(sys._getframe(1), torch.nn.Module)
    if mode is not None:
        return mode
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
