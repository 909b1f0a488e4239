"""What `autodiff` tells of a gradient graph."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NamedTuple

from pykernels.base.refusals import WrongType
from pykernels.vendors.popxl.graph import Graph
from pykernels.vendors.popxl.ops.call import CallSiteInfo
from pykernels.vendors.popxl.tensor import Tensor

__all__ = ["ExpectedConnection", "ExpectedConnectionType", "GradGraphInfo"]


class ExpectedConnectionType(enum.Enum):
    """What an input or output of a gradient graph stands for."""

    #: A tensor of the forward graph.
    Fwd = "Fwd"
    #: The gradient of one.
    FwdGrad = "FwdGrad"


class ExpectedConnection(NamedTuple):
    """What an input or output of a gradient graph stands for, and of which tensor of the forward graph."""

    connection_type: ExpectedConnectionType
    fwd_tensor: Tensor


class GradGraphInfo:
    """A gradient graph.

    Attributes
    ----------
    graph, forward_graph : Graph
    expected_inputs, expected_outputs : tuple of ExpectedConnection
        What the inputs and outputs of `graph` stand for. The gradients that are provided are the first inputs.
    """

    def __init__(
        self,
        graph: Graph,
        forward_graph: Graph,
        expected_inputs: Iterable[ExpectedConnection],
        expected_outputs: Iterable[ExpectedConnection],
    ) -> None:
        self.graph = graph
        self.forward_graph = forward_graph
        self.expected_inputs = tuple(expected_inputs)
        self.expected_outputs = tuple(expected_outputs)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors of the forward graph that the inputs stand for."""
        return tuple(each.fwd_tensor for each in self.expected_inputs)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors of the forward graph that the outputs are the gradients of."""
        return tuple(each.fwd_tensor for each in self.expected_outputs)

    def inputs_dict(self, fwd_call_info: CallSiteInfo) -> dict[Tensor, Tensor]:
        """The activations, for `ops.call` of `graph`: its inputs, and the parent's tensors for them.

        Parameters
        ----------
        fwd_call_info : CallSiteInfo
            Of a call of the forward graph.

        Raises
        ------
        TypeError
            It is of a call of another graph.
        """
        self._check(fwd_call_info, self.forward_graph)
        return {
            t: fwd_call_info.graph_to_parent(each.fwd_tensor)
            for t, each in zip(self.graph.inputs, self.expected_inputs)
            if each.connection_type is ExpectedConnectionType.Fwd
        }

    def fwd_graph_ins_to_grad_parent_outs(self, grad_call_info: CallSiteInfo) -> dict[Tensor, Tensor]:
        """The parent's gradients of the forward graph's inputs; TypeError if the call is of another graph."""
        self._check(grad_call_info, self.graph)
        return dict(zip(self.outputs, grad_call_info.outputs))

    def fwd_parent_ins_to_grad_parent_outs(
        self, fwd_call_info: CallSiteInfo, grad_call_info: CallSiteInfo
    ) -> dict[Tensor, Tensor]:
        """The parent's gradients of what it gave to the forward graph; TypeError if a call is of another graph."""
        self._check(fwd_call_info, self.forward_graph)
        grads = self.fwd_graph_ins_to_grad_parent_outs(grad_call_info)
        return {fwd_call_info.graph_to_parent(t): grad for t, grad in grads.items()}

    @staticmethod
    def _check(info: CallSiteInfo, graph: Graph) -> None:
        if info.called_graph is not graph:
            raise WrongType(f"GradGraphInfo: the call is one of {info.called_graph!r}; it must be one of {graph!r}")

    def __repr__(self) -> str:
        return (
            f"GradGraphInfo[graph={self.graph!r}, expected_inputs={self.expected_inputs}, "
            f"expected_outputs={self.expected_outputs}]"
        )
