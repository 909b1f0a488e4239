"""Arguments that the caller of a check gives for the calls that are made up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pykernels.load.module import OpModule
from pykernels.load.samples import Sample, declared, sample

__all__ = ["Arguments"]


@dataclass(frozen=True)
class Arguments:
    """Shapes of inputs, and values of attributes, of the calls that all others are like; see `samples.sample`."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def sample(self, module: OpModule, elements: int, dtype: np.dtype) -> Sample:
        """A call of about so many elements; errors are those of `samples.sample`."""
        return sample(module, elements, dtype, shapes=self.shapes, attributes=self.attributes)

    def samples(self, module: OpModule, elements: int, dtype: np.dtype) -> list[Sample]:
        """The same, and all other calls that the op itself declares."""
        found = [] if self.shapes else declared(module, elements, dtype, self.attributes)
        return found or [self.sample(module, elements, dtype)]
