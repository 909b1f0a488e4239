"""Ops that read from and write to streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType
from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.op import Op
from pykernels.vendors.popxl.streams import DeviceToHostStream, HostToDeviceStream, Stream
from pykernels.vendors.popxl.tensor import Tensor

if TYPE_CHECKING:
    from pykernels.vendors.popxl.gradients import Backward
    from pykernels.vendors.popxl.graph import Graph
    from pykernels.vendors.popxl.lowering import Lowering, Values

__all__ = ["HostLoad", "HostStore", "host_load", "host_store"]


@dataclass(eq=False, repr=False)
class HostLoad(Op):
    """Reads what comes next in a stream."""

    stream: HostToDeviceStream

    def lower(self, lowering: Lowering, values: Values) -> None:
        """As `Op.lower`."""
        values.set(self.outputs, [lowering.load(self.stream)])

    def gradient(self, backward: Backward, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """As `Op.gradient`."""
        return []


@dataclass(eq=False, repr=False)
class HostStore(Op):
    """Writes a tensor as what comes next in a stream."""

    stream: DeviceToHostStream

    def lower(self, lowering: Lowering, values: Values) -> None:
        """As `Op.lower`."""
        lowering.store(self.stream, *values.names(self.inputs))

    def gradient(self, backward: Backward, grads: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """As `Op.gradient`."""
        return [None]


@op_debug_context
def host_load(h2d_stream: HostToDeviceStream, name: str | None = None) -> Tensor:
    """What comes next in a stream.

    Raises
    ------
    RuntimeError, TypeError, CallError
        No graph has been chosen; it is no such stream; it is one of another IR.
    """
    context = get_current_context()
    graph = context.graph
    _check(graph, h2d_stream, HostToDeviceStream)
    output = graph.new_tensor(f"{name or h2d_stream.tensor_id}_hostload", h2d_stream.shape, h2d_stream.dtype)
    op = HostLoad(context._get_op_settings("host_load").name, [], [output], h2d_stream)
    graph.add_op(op)
    context._op_created(op)
    return output


@op_debug_context
def host_store(d2h_stream: DeviceToHostStream, t: Tensor) -> None:
    """Write a tensor as what comes next in a stream.

    Raises
    ------
    RuntimeError, TypeError, CallError
        No graph has been chosen; it is no such stream; it is one of another IR, or of another shape or dtype.
    """
    context = get_current_context()
    graph = context.graph
    _check(graph, d2h_stream, DeviceToHostStream)
    graph.check_holds(t=t)
    if (d2h_stream.shape, d2h_stream.dtype) != (t.shape, t.dtype):
        raise CallError(f"host_store: {t!r} does not fit {d2h_stream!r}: shape and dtype must be the same")
    op = HostStore(context._get_op_settings("host_store").name, [t], [], d2h_stream)
    graph.add_op(op)
    context._op_created(op)


def _check(graph: Graph, stream: Stream, kind: type[Stream]) -> None:
    op = get_current_context().op_name
    if not isinstance(stream, kind):
        raise WrongType(f"{op}: {stream!r} is no popxl.{kind.__name__}")
    if stream._graph.ir is not graph.ir:
        raise CallError(f"{op}: {stream!r} is of another popxl.Ir than {graph!r}, which ops are being made in")
