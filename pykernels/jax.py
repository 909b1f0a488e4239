"""The loaded ops as functions on JAX's arrays: ``pykernels.jax.mish(x)``.

Importing this module enters the ops into XLA, which programs from ``jax.export`` need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pykernels.frameworks.jax import functions, table

table.registrar()


def __getattr__(name: str) -> Callable[..., Any]:
    return functions.function(name)


def __dir__() -> list[str]:
    return table.names()
