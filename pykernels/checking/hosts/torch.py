"""PyTorch: tensors, and what ``torch.compile`` makes of the operator."""

from __future__ import annotations

from typing import Any

import torch

from pykernels import discovery
from pykernels.checking.hosts.case import Case, Outcome, Way
from pykernels.frameworks.torch_layout import Layout
from pykernels.kernel.source import IS_TRAIN

__all__ = ["ways"]


def ways(case: Case) -> dict[str, Way]:
    """How to call an op here."""
    return {"tensors": lambda: _run(case), "torch.compile": lambda: _run(case, is_compiled=True)}


def _run(case: Case, *, is_compiled: bool = False) -> Outcome:
    module = discovery.find_op(case.op_type)
    operator = getattr(torch.ops.pykernels, module.name)
    takes_is_train = IS_TRAIN in {argument.name for argument in operator.default._schema.arguments}
    layout = Layout(module.forward, takes_is_train=takes_is_train)
    tensors = {name: [torch.from_numpy(a.copy()) for a in group] for name, group in case.inputs.items()}
    for name, index in case.places:
        tensors[name][index].requires_grad_()
    attributes = module.forward.parse_attributes(case.attributes)
    values = layout.write(list(tensors.values()), attributes, list(case.counts.values()), is_train=True)

    def run() -> Any:
        return operator(**values)

    results = layout.unpack(torch.compile(run, fullgraph=True, backend="aot_eager")() if is_compiled else run())
    gradients: dict[tuple[str, int], Any] = {}
    if case.places:
        wanted = [tensors[name][index] for name, index in case.places]
        pairs = [(y, torch.from_numpy(seed)) for y, seed in zip(results, case.seeds) if y.requires_grad]
        found = torch.autograd.grad([y for y, _ in pairs], wanted, [seed for _, seed in pairs])
        gradients = {place: gradient.numpy() for place, gradient in zip(case.places, found)}
    return Outcome([y.detach().numpy() for y in results], gradients, is_train=True)
