"""The shipped ops on PyTorch's tensors, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from cases import CASES, Case, outputs

#: One case of every op.
ONE_EACH = list({case.op: case for case in reversed(CASES)}.values())
#: Those that have a gradient.
DIFFERENTIABLE = [case for case in CASES if case.variables]


def dtype_of(case: Case) -> str:
    """The most exact dtype in which a case can be tried."""
    return "float64" if "float64" in case.dtypes else case.dtypes[0]


def tensors_of(case: Case, dtype: str | None = None, *, seed: int = 0, grad: bool = True) -> list[torch.Tensor]:
    tensors = [torch.from_numpy(x) for x in case.inputs(dtype or dtype_of(case), seed)]
    for which in case.variables if grad else ():
        tensors[which].requires_grad_()
    return tensors


def function_of(ops: Any, case: Case) -> Callable[..., list[torch.Tensor]]:
    """The op with the attributes of a case; its outputs are a list."""
    operator = getattr(ops, case.op)
    return lambda *tensors: outputs(operator(*tensors, **case.attributes))


def variables(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor for tensor in tensors if tensor.requires_grad]


def weighted_sum(results: Sequence[torch.Tensor]) -> torch.Tensor:
    """A number that depends on every element of the results that have a gradient."""
    generator = torch.Generator().manual_seed(1)
    weights = [torch.randn(y.shape, generator=generator, dtype=torch.float64).to(y.dtype) for y in variables(results)]
    return sum((y * w).sum() for y, w in zip(variables(results), weights))


class EveryOp(torch.nn.Module):
    """A parameter for every differentiable op, with which the op is called; the result depends on all of them."""

    def __init__(self, ops: Any) -> None:
        super().__init__()
        self._ops = ops
        self._cases = {case.op: case for case in ONE_EACH if case.variables}
        inputs = {name: tensors_of(case, grad=False)[case.variables[0]] for name, case in self._cases.items()}
        self.weights = torch.nn.ParameterDict(inputs)

    def forward(self, factor: torch.Tensor) -> torch.Tensor:
        total = factor.new_zeros(())
        for name, case in self._cases.items():
            tensors = tensors_of(case, grad=False)
            tensors[case.variables[0]] = self.weights[name]
            results = function_of(self._ops, case)(*tensors)
            total = total + factor * sum(y.square().sum() for y in results if y.is_floating_point())
        return total
