"""``flow.optimizer.*Scheduler`` and ``flow.optimizer.warmup``: learning rates over the steps of a training job.

OneFlow computes them; the docstrings have its formulas, of the number `step` of steps taken and of `base_lr`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from oneflow.core.job.learning_rate_schedule_conf_pb2 import LearningRateDecayConf

from pykernels.base.errors import CallError

__all__ = [
    "CosineScheduler",
    "ExponentialScheduler",
    "InverseTimeScheduler",
    "LinearCosineScheduler",
    "NaturalExpScheduler",
    "PiecewiseConstantScheduler",
    "PiecewiseScalingScheduler",
    "PolynomialScheduler",
    "Scheduler",
    "warmup",
]


class Scheduler:
    """A learning rate: `base_lr`, and how it changes."""

    def __init__(self, base_lr: float, decay: str, settings: dict[str, Any], warmup: Warmup | None) -> None:
        name = f"flow.optimizer.{type(self).__name__}"
        if warmup is not None and not isinstance(warmup, Warmup):
            raise CallError(f"{name}: warmup must be one of flow.optimizer.warmup, such as linear(...), not {warmup!r}")
        # OneFlow ends the process at these.
        if settings.get("decay_batches", 1) < 1:
            raise CallError(f"{name}: steps must be 1 or more, not {settings['decay_batches']}")
        values = settings.get("values") or settings.get("scales")
        if values is not None and len(values) != len(settings["boundaries"]) + 1:
            raise CallError(
                f"{name}: {len(settings['boundaries'])} boundaries divide the steps into "
                f"{len(settings['boundaries']) + 1} parts, but there are {len(values)} values"
            )
        self.base_lr = float(base_lr)
        self._decay = LearningRateDecayConf(**{f"{decay}_conf": settings})
        self._warmup = warmup

    def configure(self, optimizer: Any) -> None:
        """Set the learning rate of an ``OptimizerConf``."""
        optimizer.base_learning_rate = self.base_lr
        if self._warmup is None:
            optimizer.learning_rate_decay.CopyFrom(self._decay)
            return
        parts = optimizer.learning_rate_decay.sequential_scheduler_conf
        parts.schedulers.extend([self._warmup.schedule, self._decay])
        parts.milestones.append(self._warmup.steps)
        # Steps are counted from the beginning, not from the end of the warmup.
        parts.interval_rescaling.append(False)


class Warmup:
    """Learning rates for the first steps."""

    def __init__(self, steps: int, schedule: LearningRateDecayConf) -> None:
        self.steps = steps
        self.schedule = schedule


def constant(steps: int, multiplier: float) -> Warmup:
    """For `steps` steps ``base_lr * multiplier``, which is between 0 and 1."""
    _check_warmup("constant", steps, multiplier)
    return Warmup(steps, LearningRateDecayConf(constant_lr_conf={"factor": multiplier, "total_iters": steps}))


def linear(steps: int, start_multiplier: float) -> Warmup:
    """For `steps` steps a rate that grows evenly from ``base_lr * start_multiplier`` to ``base_lr``."""
    _check_warmup("linear", steps, start_multiplier)
    settings = {"start_factor": start_multiplier, "end_factor": 1.0, "total_iters": steps}
    return Warmup(steps, LearningRateDecayConf(linear_lr_conf=settings))


def _check_warmup(name: str, steps: int, multiplier: float) -> None:
    if steps < 0 or not 0 <= multiplier <= 1:
        raise CallError(
            f"flow.optimizer.warmup.{name}({steps!r}, {multiplier!r}): the steps must be 0 or more, the multiplier "
            f"from 0 to 1"
        )


#: ``flow.optimizer.warmup``
warmup = SimpleNamespace(constant=constant, linear=linear)


class PiecewiseConstantScheduler(Scheduler):
    """``values[i]``, where i is the number of boundaries that are less than `step`."""

    def __init__(self, boundaries: Sequence[int], values: Sequence[float], warmup: Warmup | None = None) -> None:
        if not len(values):
            raise CallError("flow.optimizer.PiecewiseConstantScheduler: values must hold one learning rate or more")
        settings = {"boundaries": list(boundaries), "values": list(values)}
        super().__init__(values[0], "piecewise_constant", settings, warmup)


class PiecewiseScalingScheduler(Scheduler):
    """``base_lr * scale[i - 1]``, where i is as above, and ``base_lr`` for i = 0."""

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
    """``base_lr * ((alpha + 1 - t) * (1 + cos(2 * pi * num_periods * t)) / 2 + beta)``, t as above."""

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
    """``(base_lr - end) * (1 - t)**power + end``; with `cycle`, `steps` is ever so many times as long as needed."""

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


class ExponentialScheduler(Scheduler):
    """``base_lr * decay_rate**(step / steps)``, whose exponent is a whole number with `staircase`."""

    def __init__(
        self, base_lr: float, steps: int, decay_rate: float, staircase: bool = False, warmup: Warmup | None = None
    ) -> None:
        settings = {"decay_batches": steps, "decay_rate": decay_rate, "staircase": staircase}
        super().__init__(base_lr, "exponential", settings, warmup)


class InverseTimeScheduler(Scheduler):
    """``base_lr / (1 + decay_rate * step / steps)``, whose quotient is a whole number with `staircase`."""

    def __init__(
        self, base_lr: float, steps: int, decay_rate: float, staircase: bool = False, warmup: Warmup | None = None
    ) -> None:
        settings = {"decay_batches": steps, "decay_rate": decay_rate, "staircase": staircase}
        super().__init__(base_lr, "inverse_time", settings, warmup)


class NaturalExpScheduler(Scheduler):
    """``base_lr * exp(-decay_rate * step / steps)``, whose quotient is a whole number with `staircase`."""

    def __init__(
        self, base_lr: float, steps: int, decay_rate: float, staircase: bool = False, warmup: Warmup | None = None
    ) -> None:
        settings = {"decay_batches": steps, "decay_rate": decay_rate, "staircase": staircase}
        super().__init__(base_lr, "natural_exp", settings, warmup)
