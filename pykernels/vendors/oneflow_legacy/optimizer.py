"""Define ``flow.optimizer``: optimizers and schedules of learning rates, which OneFlow's own kernels compute.

In the formulas of optimizers, `g` is the gradient of the loss, `w` a variable, `lr` the learning rate of the step, and
`t` the number of the step, counted from 1. In those of learning rates, `step` is the number of steps taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import oneflow as flow
from oneflow.core.job.job_conf_pb2 import OptimizerConf, TrainConf
from oneflow.core.job.learning_rate_schedule_conf_pb2 import LearningRateDecayConf

from pykernels.base.errors import CallError
from pykernels.vendors.oneflow_legacy.graph import building
from pykernels.vendors.providing import missing

__all__ = [
    *("SGD", "SGDW", "Adam", "AdamW", "CosineScheduler", "ExponentialScheduler", "InverseTimeScheduler"),
    *("LinearCosineScheduler", "NaturalExpScheduler", "PiecewiseConstantScheduler", "PiecewiseScalingScheduler"),
    *("PolynomialScheduler", "grad_clipping", "warmup"),
]


Patterns = str | Sequence[str] | None


class Scheduler:
    """Base class of the schedules of the learning rate: a base learning rate, its decay and an optional warmup."""

    def __init__(self, base_lr: float, decay: str, settings: dict[str, Any], warmup: Warmup | None) -> None:
        name = f"flow.optimizer.{type(self).__name__}"
        if warmup is not None and not isinstance(warmup, Warmup):
            raise CallError(f"{name}: warmup must be one of flow.optimizer.warmup, such as linear(...), not {warmup!r}")
        # OneFlow terminates the process for these arguments.
        if settings.get("decay_batches", 1) < 1:
            raise CallError(f"{name}: steps must be 1 or more, not {settings['decay_batches']}")
        values = settings.get("values") or settings.get("scales")
        if values is not None and len(values) != len(settings["boundaries"]) + 1:
            raise CallError(
                f"{name}: {len(settings['boundaries'])} boundaries divide the steps into "
                f"{len(settings['boundaries']) + 1} parts, but there are {len(values)} values"
            )
        self.base_lr = float(base_lr)
        self._schedule = LearningRateDecayConf(**{f"{decay}_conf": settings})
        self._warmup = warmup

    def configure(self, optimizer: Any) -> None:
        """Set the learning rate schedule of an ``OptimizerConf``."""
        optimizer.base_learning_rate = self.base_lr
        if self._warmup is None:
            optimizer.learning_rate_decay.CopyFrom(self._schedule)
            return
        parts = optimizer.learning_rate_decay.sequential_scheduler_conf
        parts.schedulers.extend([self._warmup.schedule, self._schedule])
        parts.milestones.append(self._warmup.steps)
        # Count steps from the start of training, not from the end of the warmup.
        parts.interval_rescaling.append(False)


@dataclass(frozen=True)
class Warmup:
    """A schedule of the learning rate for the first steps."""

    steps: int
    schedule: LearningRateDecayConf


def constant(steps: int, multiplier: float) -> Warmup:
    """Return a warmup of `steps` steps with the rate ``base_lr * multiplier``; `multiplier` is from 0 to 1."""
    _check_warmup("constant", steps, multiplier)
    return Warmup(steps, LearningRateDecayConf(constant_lr_conf={"factor": multiplier, "total_iters": steps}))


def linear(steps: int, start_multiplier: float) -> Warmup:
    """Return a warmup of `steps` steps whose rate grows linearly from ``base_lr * start_multiplier`` to ``base_lr``."""
    _check_warmup("linear", steps, start_multiplier)
    settings = {"start_factor": start_multiplier, "end_factor": 1.0, "total_iters": steps}
    return Warmup(steps, LearningRateDecayConf(linear_lr_conf=settings))


def _check_warmup(name: str, steps: int, multiplier: float) -> None:
    if steps < 0 or not 0 <= multiplier <= 1:
        raise CallError(
            f"flow.optimizer.warmup.{name}({steps!r}, {multiplier!r}): the steps must be 0 or more, the multiplier "
            f"from 0 to 1"
        )


#: The namespace ``flow.optimizer.warmup``.
warmup = SimpleNamespace(constant=constant, linear=linear)


class PiecewiseConstantScheduler(Scheduler):
    """``values[i]``, where i is the number of boundaries less than `step`."""

    def __init__(self, boundaries: Sequence[int], values: Sequence[float], warmup: Warmup | None = None) -> None:
        if not len(values):
            raise CallError("flow.optimizer.PiecewiseConstantScheduler: values must hold one learning rate or more")
        settings = {"boundaries": list(boundaries), "values": list(values)}
        super().__init__(values[0], "piecewise_constant", settings, warmup)


class PiecewiseScalingScheduler(Scheduler):
    """``base_lr * scale[i - 1]``, where i is the number of boundaries less than `step`; ``base_lr`` for i = 0."""

    def __init__(
        self, base_lr: float, boundaries: Sequence[int], scale: float | Sequence[float], warmup: Warmup | None = None
    ) -> None:
        scales = [scale] * len(boundaries) if isinstance(scale, (int, float)) else list(scale)
        settings = {"boundaries": list(boundaries), "scales": [1.0, *scales]}
        super().__init__(base_lr, "piecewise_scaling", settings, warmup)


class CosineScheduler(Scheduler):
    """``base_lr * ((1 - alpha) * (1 + cos(pi * t)) / 2 + alpha)`` with ``t = min(step, steps) / steps``."""

    def __init__(self, base_lr: float, steps: int, alpha: float = 0.0, warmup: Warmup | None = None) -> None:
        super().__init__(base_lr, "cosine", {"decay_batches": steps, "alpha": alpha}, warmup)


class LinearCosineScheduler(Scheduler):
    """``base_lr * ((alpha + 1 - t) * (1 + cos(2 * pi * num_periods * t)) / 2 + beta)``, t as in `CosineScheduler`."""

    def __init__(
        self,
        base_lr: float,
        steps: int,
        num_periods: float = 0.5,
        alpha: float = 0.0,
        beta: float = 0.001,
        warmup: Warmup | None = None,
    ) -> None:
        settings = {"decay_batches": steps, "num_periods": num_periods, "alpha": alpha, "beta": beta}
        super().__init__(base_lr, "linear_cosine", settings, warmup)


class PolynomialScheduler(Scheduler):
    """``(base_lr - end) * (1 - t)**power + end``, where end is `end_learning_rate`, and t as in `CosineScheduler`.

    With `cycle`, the smallest multiple of `steps` that is large enough for `step` takes the place of `steps`.
    """

    def __init__(
        self,
        base_lr: float,
        steps: int,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        warmup: Warmup | None = None,
    ) -> None:
        settings = {"decay_batches": steps, "end_learning_rate": end_learning_rate, "power": power, "cycle": cycle}
        super().__init__(base_lr, "polynomial", settings, warmup)


class _RateScheduler(Scheduler):
    """A schedule with a rate of decay; subclasses set OneFlow's name for it."""

    _decay: ClassVar[str]

    def __init__(
        self, base_lr: float, steps: int, decay_rate: float, staircase: bool = False, warmup: Warmup | None = None
    ) -> None:
        settings = {"decay_batches": steps, "decay_rate": decay_rate, "staircase": staircase}
        super().__init__(base_lr, self._decay, settings, warmup)


class ExponentialScheduler(_RateScheduler):
    """``base_lr * decay_rate**(step / steps)``, with an integer exponent if `staircase` is true."""

    _decay = "exponential"


class InverseTimeScheduler(_RateScheduler):
    """``base_lr / (1 + decay_rate * step / steps)``, with an integer ``step / steps`` if `staircase` is true."""

    _decay = "inverse_time"


class NaturalExpScheduler(_RateScheduler):
    """``base_lr * exp(-decay_rate * step / steps)``, with an integer ``step / steps`` if `staircase` is true."""

    _decay = "natural_exp"


@dataclass(frozen=True)
class ByGlobalNorm:
    """Divide all gradients by ``norm / clip_norm`` if that exceeds 1, where norm is their joint L2 norm."""

    clip_norm: float


#: The namespace ``flow.optimizer.grad_clipping``.
grad_clipping = SimpleNamespace(by_global_norm=ByGlobalNorm)


class Optimizer:
    """Base class of the optimizers.

    Parameters
    ----------
    lr_scheduler : Scheduler
    loss_scale_factor : float, optional
        The factor by which the loss is multiplied, and the gradients are divided, so that small gradients do not
        underflow.
    grad_clipping : ByGlobalNorm, optional
        ``flow.optimizer.grad_clipping.by_global_norm(...)``.
    weight_decay : float, optional
        The rate at which variables decay.
    weight_decay_includes, weight_decay_excludes : str or sequence of str, optional
        Patterns of the names of variables that decay, or of those that do not.

    Raises
    ------
    CallError
        An argument has the wrong type, or there are both kinds of patterns.
    """

    def __init__(
        self,
        lr_scheduler: Scheduler,
        loss_scale_factor: float | None,
        grad_clipping: ByGlobalNorm | None,
        weight_decay: float | None = None,
        weight_decay_includes: Patterns = None,
        weight_decay_excludes: Patterns = None,
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
        if weight_decay_includes is not None and weight_decay_excludes is not None:
            raise CallError("flow.optimizer: give weight_decay_includes or weight_decay_excludes, not both")
        if weight_decay is not None:
            decay = self._optimizer.weight_decay_conf
            decay.weight_decay_rate = weight_decay
            for patterns, given in ((decay.includes, weight_decay_includes), (decay.excludes, weight_decay_excludes)):
                if given is not None:
                    patterns.pattern.extend([given] if isinstance(given, str) else given)
        self._loss_scale_factor = loss_scale_factor

    def minimize(self, loss: flow.Tensor | Sequence[flow.Tensor]) -> None:
        """Train the variables of the job whose function is running.

        Parameters
        ----------
        loss : Tensor or sequence of Tensor
            The loss, whose mean is minimized. Of several losses, which must have the same shape and dtype, the sum of
            the means is minimized.

        Raises
        ------
        CallError
            The job does not train, it has an optimizer already, or `loss` is not a loss of this job.
        """
        losses = list(loss) if isinstance(loss, (list, tuple)) else [loss]
        building(f"{self._name}(...).minimize").minimize(losses, self._configure)

    def _configure(self, variables: list[str]) -> TrainConf:
        training = TrainConf(loss_scale_factor=self._loss_scale_factor, optimizer_conf=[self._optimizer])
        training.optimizer_conf[0].variable_op_names.extend(variables)
        return training


class SGDW(Optimizer):
    """``m = momentum * m - lr * g`` and ``w = w + m - lr * weight_decay * w``, where m starts at 0."""

    def __init__(
        self,
        lr_scheduler: Scheduler,
        loss_scale_factor: float | None = None,
        momentum: float = 0.9,
        weight_decay: float | None = None,
        weight_decay_includes: Patterns = None,
        weight_decay_excludes: Patterns = None,
        grad_clipping: ByGlobalNorm | None = None,
    ) -> None:
        decay = (weight_decay, weight_decay_includes, weight_decay_excludes)
        super().__init__(lr_scheduler, loss_scale_factor, grad_clipping, *decay)
        if momentum == 0:
            self._optimizer.naive_conf.SetInParent()
        else:
            self._optimizer.momentum_conf.beta = momentum


class SGD(SGDW):
    """``m = momentum * m - lr * g`` and ``w = w + m``, where m starts at 0."""

    def __init__(
        self,
        lr_scheduler: Scheduler,
        loss_scale_factor: float | None = None,
        momentum: float = 0.9,
        grad_clipping: ByGlobalNorm | None = None,
    ) -> None:
        super().__init__(lr_scheduler, loss_scale_factor, momentum, grad_clipping=grad_clipping)


class AdamW(Optimizer):
    """`Adam` with weight decay: it also subtracts ``lr * weight_decay * w`` from ``w``."""

    def __init__(
        self,
        lr_scheduler: Scheduler,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        do_bias_correction: bool = False,
        loss_scale_factor: float | None = None,
        weight_decay: float | None = None,
        weight_decay_includes: Patterns = None,
        weight_decay_excludes: Patterns = None,
        grad_clipping: ByGlobalNorm | None = None,
    ) -> None:
        decay = (weight_decay, weight_decay_includes, weight_decay_excludes)
        super().__init__(lr_scheduler, loss_scale_factor, grad_clipping, *decay)
        adam = self._optimizer.adam_conf
        adam.beta1, adam.beta2, adam.epsilon, adam.do_bias_correction = beta1, beta2, epsilon, do_bias_correction


class Adam(AdamW):
    """``w = w - lr * m / (sqrt(v) + epsilon)``, with moving averages m of the gradients and v of their squares.

    ``m = beta1 * m + (1 - beta1) * g`` and ``v = beta2 * v + (1 - beta2) * g**2`` start at 0. With
    `do_bias_correction`, ``m / (1 - beta1**t)`` and ``v / (1 - beta2**t)`` replace m and v in the first formula.
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


__getattr__ = missing("flow.optimizer", __all__, __name__)
