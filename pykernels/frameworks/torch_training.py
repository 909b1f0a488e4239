"""Whether a call of an op is part of a training pass, for calls that do not say so themselves."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import Any

import torch

__all__ = ["is_training"]


def is_training(tensors: Sequence[Any]) -> bool:
    """Whether a call on `tensors` is one of a training pass.

    In the ``forward`` of a module it is if the module is in training mode (``module.train()``, ``module.eval()``), as
    with PyTorch's own layers. Elsewhere it is if it is recorded for gradients.

    Raises
    ------
    RuntimeError
        The call is being compiled, which sees no frames.
    """
    if torch.compiler.is_dynamo_compiling():
        raise RuntimeError(
            "what is compiled cannot see whether it is part of training: call the operator of torch.ops with is_train="
        )
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "forward" and frame.f_code.co_argcount:
            owner = frame.f_locals.get(frame.f_code.co_varnames[0])
            if isinstance(owner, torch.nn.Module):
                return bool(owner.training)
        frame = frame.f_back
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
