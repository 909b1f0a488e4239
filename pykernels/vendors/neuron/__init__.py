"""``torch_neuronx`` of the AWS Neuron SDK, where it is not installed: custom C++ operators, on the CPU.

After ``import pykernels.vendors.neuron``, ``from torch_neuronx.xla_impl import custom_op`` works without Neuron's
packages; where they are installed it gives theirs.
"""

from __future__ import annotations

from typing import Any

from pykernels.base.refusals import MissingName
from pykernels.vendors.providing import provide

__all__: list[str] = []

provide("torch_neuronx", __name__)


def __getattr__(name: str) -> Any:
    raise MissingName(
        f"torch_neuronx.{name}: torch_neuronx is not installed, and what pykernels provides in its place is "
        "torch_neuronx.xla_impl.custom_op"
    )
