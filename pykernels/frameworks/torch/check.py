"""Check an op in PyTorch: on tensors, and compiled by ``torch.compile``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pykernels.frameworks.case import Case, Outcome, Way, call, strided
from pykernels.frameworks.torch.layout import Layout
from pykernels.kernel.read.source import IS_TRAIN
from pykernels.load import discovery


def takes(case: Case) -> bool:
    """Whether PyTorch has tensors for the inputs and outputs, as it has for all dtypes."""
    return True


def ways(case: Case) -> dict[str, Way]:
    """Return the ways to call an op in PyTorch."""
    name, is_train = "strided tensors" if case.is_strided else "tensors", case.has_training
    found: dict[str, Way] = {name: lambda: _run(case, _function(case, is_train), is_train)}
    if case.in_graphs and not (case.function and _takes_is_train(case)):
        compiled = {"fullgraph": True, "backend": "aot_eager"}
        found["torch.compile"] = lambda: _run(case, torch.compile(_function(case, is_train), **compiled), is_train)
    if not case.function and is_train:
        found["tensors outside of training"] = lambda: _run(case, _function(case, False), False)
    return found


def _operator(case: Case) -> Any:
    return getattr(torch.ops.pykernels, discovery.find_op(case.op_type).name)


def _takes_is_train(case: Case) -> bool:
    return IS_TRAIN in {argument.name for argument in _operator(case).default._schema.arguments}


def _function(case: Case, is_train: bool) -> Any:
    """Return a function that calls the op on its tensors, argument after argument."""
    if case.function:
        return lambda tensors: call(case, tensors)
    module, operator = discovery.find_op(case.op_type), _operator(case)
    layout = Layout(module.forward, takes_is_train=_takes_is_train(case))
    attributes = module.forward.parse_attributes(case.attributes)

    def run(tensors: dict[str, list[Any]]) -> list[Any]:
        values = layout.write(list(tensors.values()), attributes, list(case.counts.values()), is_train=is_train)
        return layout.unpack(operator(**values))

    return run


def _run(case: Case, function: Any, is_train: bool) -> Outcome:
    make = strided if case.is_strided else np.copy
    tensors = {name: [torch.from_numpy(make(a)) for a in group] for name, group in case.inputs.items()}
    places = case.places if is_train else []
    for name, index in places:
        tensors[name][index].requires_grad_()
    results = function(tensors)
    gradients: dict[tuple[str, int], Any] = {}
    # Outputs whose gradients the op does not read cannot be differentiated here.
    pairs = [(y, torch.from_numpy(seed)) for y, seed in zip(results, case.seeds) if y.requires_grad]
    if places and pairs:
        wanted = [tensors[name][index] for name, index in places]
        found = torch.autograd.grad([y for y, _ in pairs], wanted, [seed for _, seed in pairs])
        gradients = {place: gradient.numpy(force=True) for place, gradient in zip(places, found)}
    states = [tensor.detach().numpy() for name in case.states for tensor in tensors[name]]
    # Without differentiable inputs, a call of the API function is not part of a training pass.
    is_train = is_train and (bool(places) or not case.function)
    return Outcome([y.numpy(force=True) for y in results], gradients, is_train, states)
