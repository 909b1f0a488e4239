"""The derived gradient of each shipped op beside the one that is written by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy.special

from pykernels.base import paths
from pykernels.base.errors import KernelError
from pykernels.kernel import reference
from pykernels.kernel.read.source import IS_TRAIN
from pykernels.load.module import open_folder
from pykernels.load.samples import draw
from pykernels.tools.derive import TARGETS, calls_of, derivative_of

# What has no derived gradient, and the reason.
REFUSED = {
    "nms": "this statement has no derived gradient beside loops",
}


@pytest.mark.parametrize("name", sorted(folder.name for folder in paths.OPS.iterdir() if folder.is_dir()))
def test_a_derived_gradient_is_the_one_written_by_hand(name: str) -> None:
    module = open_folder(paths.OPS / name)
    if name in REFUSED:
        with pytest.raises(KernelError, match=REFUSED[name]):
            derivative_of(module, TARGETS[False, False])
        return
    calls = calls_of(module)
    derived = derivative_of(module, TARGETS[False, False])
    kernel, op = module.source.functions["backward"], module.definition.ops[f"{name}_backward"]
    namespace: dict[str, Any] = {**kernel.function.__globals__, "np": np, "math": math, "scipy": scipy}
    exec(derived.written.source, namespace)
    for call in calls:
        tensors = dict(zip((each.name for each in module.forward.inputs), call.arrays))
        outputs = [each.name for each in module.forward.outputs]
        forward = module.source.functions["forward"]
        attributes = {IS_TRAIN: True, **call.attributes}
        states = [at for at, each in enumerate(module.forward.inputs) if each.mutable]
        arrays, keywords = (tuple(call.arrays), tuple(call.outs)), _of(attributes, forward.keywords)
        reference.run(forward, name, *arrays, outputs, keywords, states)
        tensors |= dict(zip(outputs, call.outs))
        tensors |= {f"d{each}": draw(tensors[each].shape, tensors[each].dtype) for each in outputs}
        given = tuple(tensors[each.name] for each in op.inputs)
        expected = tuple(np.empty_like(tensors[each.name[1:]]) for each in op.outputs)
        names = [each.name for each in op.outputs]
        reference.run(kernel, name, given, expected, names, _of(attributes, kernel.keywords))
        found = namespace["backward"](
            tuple(tensors[each] for each in derived.written.arguments), **_of(attributes, derived.written.attributes)
        )
        gradients = dict(zip(derived.results, found if isinstance(found, tuple) else (found,)))
        for each, value in zip(names, expected):
            np.testing.assert_allclose(gradients[each], value, rtol=1e-12, atol=1e-12)


def _of(attributes: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {each: attributes[each] for each in names}
