"""``flow.config``: what a job may use, which is the CPU of one machine."""

from __future__ import annotations

from typing import Any, NoReturn

from pykernels.errors import CallError

__all__ = ["Config"]

#: The settings that are known, and the one value of each that is right here.
_SETTINGS = {"machine_num": 1, "cpu_device_num": 1, "gpu_device_num": 0}


class Config:
    """Accepts the settings that say what is so anyway, and refuses every other one by its name."""

    def machine_num(self, value: int) -> None:
        """How many machines there are: 1."""
        _check("machine_num", value)

    def cpu_device_num(self, value: int) -> None:
        """How many CPU devices each has: 1."""
        _check("cpu_device_num", value)

    def gpu_device_num(self, value: int) -> None:
        """How many GPUs each has that ops may run on: 0."""
        _check("gpu_device_num", value)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"flow.config.{name} is not provided by pykernels.compat.oneflow: it has {', '.join(_SETTINGS)}"
        )


def _check(name: str, value: Any) -> None:
    if value != _SETTINGS[name]:
        raise CallError(
            f"flow.config.{name}({value!r}): ops run on the CPU of one machine, flow.config.{name}({_SETTINGS[name]})"
        )
