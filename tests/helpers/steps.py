"""One run of a kernel of a shipped op on arrays: the forward pass of a case, or its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cases import Case

import pykernels
from pykernels.call import steps
from pykernels.define.definition import OpDef
from pykernels.define.instance import TensorSpec
from pykernels.frameworks.numpy import plugin
from pykernels.kernel import reference
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample


@dataclass(frozen=True)
class Step:
    """An op type with its inputs and attributes."""

    module: OpModule
    op: OpDef
    inputs: Sequence[np.ndarray]
    attributes: dict[str, Any]

    def run(self, inputs: Sequence[np.ndarray] | None = None) -> list[np.ndarray]:
        """What the compiled kernel computes, from other `inputs` if they are given."""
        groups = [[x] for x in (self.inputs if inputs is None else inputs)]
        return plugin.call(self.module, self.op.name, groups, self.attributes, [1] * len(self.op.outputs))

    def run_plain(self) -> list[np.ndarray]:
        """What the plain NumPy run of the kernel computes."""
        kernel = self.module.kernel(self.op.name)
        specs = self.op.infer([[TensorSpec(x.shape, x.dtype)] for x in self.inputs], self.attributes)
        outs = tuple(np.empty(spec.shape or (), spec.dtype) for (spec,) in specs)
        names = [argument.name for argument in self.op.outputs]
        keywords = {name: name != "is_train" and self.attributes[name] for name in kernel.keywords}
        reference.run(kernel, self.op.name, tuple(self.inputs), outs, names, keywords)
        return list(outs)


def forward_step(case: Case, dtype: str = "float64") -> Step:
    module = pykernels.list_ops()[case.op]
    return Step(module, module.forward, case.inputs(dtype), module.forward.parse_attributes(case.attributes))


def backward_step(case: Case) -> Step:
    """The gradient as the definition plans it, with random gradients of the outputs."""
    step = forward_step(case)
    forward = steps.forward_step(step.module, Sample([[x] for x in step.inputs], step.attributes), is_train=False)
    forward.call.run()
    (planned,) = steps.gradient(step.module, forward).steps
    return Step(step.module, planned.op, [x for (x,) in planned.inputs], planned.attributes)
