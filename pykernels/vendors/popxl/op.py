"""Define the ops of graphs and what their gradients need."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pykernels.vendors.popxl.lowering import Lowering, Values
from pykernels.vendors.popxl.streams import DeviceToHostStream, HostToDeviceStream
from pykernels.vendors.popxl.tensor import Tensor


@dataclass(eq=False)
class Op(abc.ABC):
    """An op of a graph."""

    #: The name of the op that the user called, prefixed with the enclosing name scopes.
    name: str
    inputs: list[Tensor]
    outputs: list[Tensor]

    #: Whether gradients flow through the op. If they do and it has no gradient, differentiation fails.
    passes_gradients: ClassVar[bool] = True

    @abc.abstractmethod
    def lower(self, lowering: Lowering, values: Values) -> None:
        """Append the ONNX nodes that compute the outputs, and record the outputs' names in `values`."""

    def gradient(self, backward: Backward, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """Append ops that compute the gradients of the inputs from those of the outputs, and return the former.

        The current graph is the gradient graph. None stands for a gradient of zero. Without this method, an op has no
        gradient.
        """
        raise backward.no_gradient(self)

    def read(self) -> list[Tensor]:
        """Return the inputs whose values the op uses."""
        return self.inputs

    def written(self) -> list[Tensor]:
        """Return the inputs that the op changes in place."""
        return []

    def outTensor(self, index: int) -> Tensor:  # noqa: N802
        """Return an output by position, as wrappers of C++ ops expect it."""
        return self.outputs[index]

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(t.id for t in self.inputs)})"


class Backward(abc.ABC):
    """The differentiation of one graph, as gradients of ops use it."""

    #: The gradient functions of nodes by ONNX op.
    node_gradients: ClassVar[Mapping[str, Gradient]]

    @abc.abstractmethod
    def activation(self, tensor: Tensor) -> Tensor:
        """Return the tensor of the gradient graph that holds the value of a forward tensor."""

    @abc.abstractmethod
    def call(self, op: Op, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """Return the gradients of the inputs of a `Call`, computed by a call of the called graph's gradient graph."""

    @abc.abstractmethod
    def no_gradient(self, op: Op) -> Exception:
        """Return the error for an op without a gradient."""


#: A function that returns the gradients of all inputs of a node; None stands for a gradient of zero.
Gradient = Callable[["Node", Tensor, Backward], Sequence["Tensor | None"]]


@dataclass(eq=False, repr=False)
class Node(Op):
    """A standard ONNX node."""

    #: The ONNX op.
    type: str
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def lower(self, lowering: Lowering, values: Values) -> None:
        """Implement `Op.lower`."""
        names = lowering.node("", self.type, values.names(self.inputs), self.outputs, self.attributes)
        values.set(self.outputs, names)

    def gradient(self, backward: Backward, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """Implement `Op.gradient`."""
        if self.type not in backward.node_gradients:
            raise backward.no_gradient(self)
        (grad,) = grads
        assert grad is not None, "nodes with gradients have one output"
        return backward.node_gradients[self.type](self, grad, backward)


@dataclass(eq=False, repr=False)
class Detach(Node):
    """A node that copies a tensor and blocks gradients."""

    passes_gradients = False


@dataclass(eq=False, repr=False)
class Assign(Op):
    """An op that writes its second input into the memory of the first; its output is an alias of the first."""

    def lower(self, lowering: Lowering, values: Values) -> None:
        """Implement `Op.lower`."""
        values.set([self.inputs[0]], values.names([self.inputs[1]]))

    def read(self) -> list[Tensor]:
        """Implement `Op.read`."""
        return [self.inputs[1]]

    def written(self) -> list[Tensor]:
        """Implement `Op.written`."""
        return [self.inputs[0]]


@dataclass(eq=False, repr=False)
class HostLoad(Op):
    """An op that reads the next tensor of a stream."""

    stream: HostToDeviceStream

    def lower(self, lowering: Lowering, values: Values) -> None:
        """Implement `Op.lower`."""
        values.set(self.outputs, [lowering.load(self.stream)])


@dataclass(eq=False, repr=False)
class HostStore(Op):
    """An op that writes a tensor to a stream, as the next one."""

    stream: DeviceToHostStream

    def lower(self, lowering: Lowering, values: Values) -> None:
        """Implement `Op.lower`."""
        lowering.store(self.stream, *values.names(self.inputs))
