"""``flow.optimizer``: what trains the variables of a job, by OneFlow's own update kernels.

In the formulas `g` is the gradient of the loss, `w` a variable, `lr` the learning rate of the step, and `t` the number
of the step, from 1 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import oneflow as flow
from oneflow.core.job.job_conf_pb2 import OptimizerConf, TrainConf

from pykernels.base.errors import CallError
from pykernels.vendors.oneflow_legacy.graph import building
from pykernels.vendors.oneflow_legacy.missing import missing
from pykernels.vendors.oneflow_legacy.schedules import (
    CosineScheduler,
    ExponentialScheduler,
    InverseTimeScheduler,
    LinearCosineScheduler,
    NaturalExpScheduler,
    PiecewiseConstantScheduler,
    PiecewiseScalingScheduler,
    PolynomialScheduler,
    Scheduler,
    warmup,
)

__all__ = [
    "SGD",
    "SGDW",
    "Adam",
    "AdamW",
    "CosineScheduler",
    "ExponentialScheduler",
    "InverseTimeScheduler",
    "LinearCosineScheduler",
    "NaturalExpScheduler",
    "PiecewiseConstantScheduler",
    "PiecewiseScalingScheduler",
    "PolynomialScheduler",
    "grad_clipping",
    "warmup",
]


@dataclass(frozen=True)
class ByGlobalNorm:
    """Divide the gradients by ``norm / clip_norm`` where that is more than 1; norm is that of all together."""

    clip_norm: float


#: ``flow.optimizer.grad_clipping``
grad_clipping = SimpleNamespace(by_global_norm=ByGlobalNorm)


@dataclass(frozen=True)
class _Decay:
    """How the variables of certain names, given by patterns, become smaller with each step."""

    rate: float | None
    includes: str | Sequence[str] | None
    excludes: str | Sequence[str] | None

    def configure(self, optimizer: Any) -> None:
        if self.includes is not None and self.excludes is not None:
            raise CallError("flow.optimizer: give weight_decay_includes or weight_decay_excludes, not both")
        if self.rate is None:
            return
        settings = optimizer.weight_decay_conf
        settings.weight_decay_rate = self.rate
        for patterns, given in ((settings.includes, self.includes), (settings.excludes, self.excludes)):
            if given is not None:
                patterns.pattern.extend([given] if isinstance(given, str) else given)


class Optimizer:
    """What all optimizers have in common.

    Parameters
    ----------
    lr_scheduler : Scheduler
    loss_scale_factor : float, optional
        What the loss is multiplied by, and its gradients divided by, so that no small ones are lost.
    grad_clipping : ByGlobalNorm, optional
        ``flow.optimizer.grad_clipping.by_global_norm(...)``.
    decay : _Decay, optional

    Raises
    ------
    CallError
        One of them is none.
    """

    def __init__(
        self,
        lr_scheduler: Scheduler,
        loss_scale_factor: float | None,
        grad_clipping: ByGlobalNorm | None,
        decay: _Decay | None = None,
    ) -> None:
        self._name = f"flow.optimizer.{type(self).__name__}"
        if not isinstance(lr_scheduler, Scheduler):
            raise CallError(
                f"{self._name} takes a scheduler of the learning rate, such as "
                f"flow.optimizer.PiecewiseConstantScheduler([], [0.1]), not {lr_scheduler!r}"
            )
        if not (grad_clipping is None or isinstance(grad_clipping, ByGlobalNorm)):
            raise CallError(
                f"{self._name}: grad_clipping must be flow.optimizer.grad_clipping.by_global_norm(...), not "
                f"{grad_clipping!r}"
            )
        self._optimizer = OptimizerConf()
        lr_scheduler.configure(self._optimizer)
        if grad_clipping is not None:
            clip = self._optimizer.clip_conf.clip_by_global_norm
            clip.max_norm, clip.norm_type = grad_clipping.clip_norm, 2.0
        if decay is not None:
            decay.configure(self._optimizer)
        self._loss_scale_factor = loss_scale_factor

    def minimize(self, loss: flow.Tensor | Sequence[flow.Tensor]) -> None:
        """Train the variables of the job whose function is running.

        Parameters
        ----------
        loss : Tensor or sequence of Tensor
            The mean of its elements becomes less; several must have one shape and dtype, their means are added up.

        Raises
        ------
        CallError
            The job does not train, or has an optimizer already, or this is no loss.
        """
        losses = list(loss) if isinstance(loss, (list, tuple)) else [loss]
        building(f"{self._name}(...).minimize").minimize(losses, self._configure)

    def _configure(self, variables: list[str]) -> TrainConf:
        training = TrainConf(loss_scale_factor=self._loss_scale_factor, optimizer_conf=[self._optimizer])
        training.optimizer_conf[0].variable_op_names.extend(variables)
        return training


class SGDW(Optimizer):
    """``m = momentum * m - lr * g``, ``w = w + m - lr * weight_decay * w``, where m begins with 0."""

    def __init__(
        self,
        lr_scheduler: Scheduler,
        loss_scale_factor: float | None = None,
        momentum: float = 0.9,
        weight_decay: float | None = None,
        weight_decay_includes: str | Sequence[str] | None = None,
        weight_decay_excludes: str | Sequence[str] | None = None,
        grad_clipping: ByGlobalNorm | None = None,
    ) -> None:
        decay = _Decay(weight_decay, weight_decay_includes, weight_decay_excludes)
        super().__init__(lr_scheduler, loss_scale_factor, grad_clipping, decay)
        if momentum == 0:
            self._optimizer.naive_conf.SetInParent()
        else:
            self._optimizer.momentum_conf.beta = momentum


class SGD(SGDW):
    """``m = momentum * m - lr * g``, ``w = w + m``, where m begins with 0."""

    def __init__(
        self,
        lr_scheduler: Scheduler,
        loss_scale_factor: float | None = None,
        momentum: float = 0.9,
        grad_clipping: ByGlobalNorm | None = None,
    ) -> None:
        super().__init__(lr_scheduler, loss_scale_factor, momentum, grad_clipping=grad_clipping)


class AdamW(Optimizer):
    """Adam, and ``w = w - lr * weight_decay * w`` with it."""

    def __init__(
        self,
        lr_scheduler: Scheduler,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        do_bias_correction: bool = False,
        loss_scale_factor: float | None = None,
        weight_decay: float | None = None,
        weight_decay_includes: str | Sequence[str] | None = None,
        weight_decay_excludes: str | Sequence[str] | None = None,
        grad_clipping: ByGlobalNorm | None = None,
    ) -> None:
        decay = _Decay(weight_decay, weight_decay_includes, weight_decay_excludes)
        super().__init__(lr_scheduler, loss_scale_factor, grad_clipping, decay)
        adam = self._optimizer.adam_conf
        adam.beta1, adam.beta2, adam.epsilon, adam.do_bias_correction = beta1, beta2, epsilon, do_bias_correction


class Adam(AdamW):
    """``w = w - lr * m / (sqrt(v) + epsilon)``, of averages of the gradients and of their squares.

    ``m = beta1 * m + (1 - beta1) * g`` and ``v = beta2 * v + (1 - beta2) * g**2``, which begin with 0. With
    `do_bias_correction` the first formula has ``m / (1 - beta1**t)`` for m and ``v / (1 - beta2**t)`` for v.
    """

    def __init__(
        self,
        lr_scheduler: Scheduler,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        do_bias_correction: bool = False,
        loss_scale_factor: float | None = None,
        grad_clipping: ByGlobalNorm | None = None,
    ) -> None:
        super().__init__(
            lr_scheduler, beta1, beta2, epsilon, do_bias_correction, loss_scale_factor, grad_clipping=grad_clipping
        )


__getattr__ = missing("flow.optimizer", __all__)
