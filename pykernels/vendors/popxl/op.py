"""Ops, which graphs consist of."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from pykernels.vendors.popxl.tensor import Tensor

if TYPE_CHECKING:
    from pykernels.vendors.popxl.gradients import Backward
    from pykernels.vendors.popxl.lowering import Lowering, Values

__all__ = ["Assign", "Detach", "Node", "Op"]


@dataclass(eq=False)
class Op(abc.ABC):
    """An op of a graph.

    Attributes
    ----------
    name : str
        What the user called, with the scopes that it is in.
    inputs, outputs : list of Tensor
    """

    name: str
    inputs: list[Tensor]
    outputs: list[Tensor]

    #: Whether gradients go through it, if it has no gradient that is an error.
    passes_gradients: ClassVar[bool] = True

    @abc.abstractmethod
    def lower(self, lowering: Lowering, values: Values) -> None:
        """Append the ONNX nodes that compute the outputs, and enter them into `values`."""

    @abc.abstractmethod
    def gradient(self, backward: Backward, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """Make the ops that compute the gradients of the inputs from those of the outputs.

        The chosen graph is the gradient graph. None stands for a gradient that is zero.
        """

    def read(self) -> list[Tensor]:
        """The inputs whose values it uses."""
        return self.inputs

    def written(self) -> list[Tensor]:
        """The inputs that it changes in place."""
        return []

    def outTensor(self, index: int) -> Tensor:  # noqa: N802
        """For wrappers of C++ ops."""
        return self.outputs[index]

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(t.id for t in self.inputs)})"


@dataclass(eq=False, repr=False)
class Node(Op):
    """A node of ONNX's own.

    Attributes
    ----------
    type : str
        The ONNX op.
    attributes : mapping
    """

    type: str
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def lower(self, lowering: Lowering, values: Values) -> None:
        """As `Op.lower`."""
        names = lowering.node("", self.type, values.names(self.inputs), self.outputs, self.attributes)
        values.set(self.outputs, names)

    def gradient(self, backward: Backward, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """As `Op.gradient`."""
        from pykernels.vendors.popxl.gradients import GRADIENTS

        if self.type not in GRADIENTS:
            raise backward.no_gradient(self)
        (grad,) = grads
        assert grad is not None, "nodes with gradients have one output"
        return GRADIENTS[self.type](self, grad, backward)


@dataclass(eq=False, repr=False)
class Detach(Node):
    """A copy that gradients do not go through."""

    passes_gradients = False


@dataclass(eq=False, repr=False)
class Assign(Op):
    """Writes its second input into the memory of the first, of which its output is another name."""

    def lower(self, lowering: Lowering, values: Values) -> None:
        """As `Op.lower`."""
        values.set([self.inputs[0]], values.names([self.inputs[1]]))

    def gradient(self, backward: Backward, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """As `Op.gradient`."""
        raise backward.no_gradient(self)

    def read(self) -> list[Tensor]:
        """As `Op.read`."""
        return [self.inputs[1]]

    def written(self) -> list[Tensor]:
        """As `Op.written`."""
        return [self.inputs[0]]
