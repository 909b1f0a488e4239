"""Define the ops that read from and write to streams."""

from __future__ import annotations

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType
from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.graph import Graph
from pykernels.vendors.popxl.op import HostLoad, HostStore
from pykernels.vendors.popxl.streams import DeviceToHostStream, HostToDeviceStream, Stream
from pykernels.vendors.popxl.tensor import Tensor


@op_debug_context
def host_load(h2d_stream: HostToDeviceStream, name: str | None = None) -> Tensor:
    """Return the next tensor of a stream.

    Raises
    ------
    RuntimeError
        No graph has been chosen.
    TypeError
        `h2d_stream` is not a HostToDeviceStream.
    CallError
        The stream belongs to another IR.
    """
    context = get_current_context()
    graph: Graph = context.graph
    _check(graph, h2d_stream, HostToDeviceStream)
    output = graph.new_tensor(f"{name or h2d_stream.tensor_id}_hostload", h2d_stream.shape, h2d_stream.dtype)
    graph.append(HostLoad(context._get_op_settings("host_load"), [], [output], h2d_stream))
    return output


@op_debug_context
def host_store(d2h_stream: DeviceToHostStream, t: Tensor) -> None:
    """Write a tensor to a stream, as the next one.

    Raises
    ------
    RuntimeError
        No graph has been chosen.
    TypeError
        `d2h_stream` is not a DeviceToHostStream.
    CallError
        The stream belongs to another IR, or has another shape or dtype than the tensor.
    """
    context = get_current_context()
    graph: Graph = context.graph
    _check(graph, d2h_stream, DeviceToHostStream)
    graph.check_holds(t=t)
    if (d2h_stream.shape, d2h_stream.dtype) != (t.shape, t.dtype):
        raise CallError(f"host_store: {t!r} does not fit {d2h_stream!r}: shape and dtype must be the same")
    graph.append(HostStore(context._get_op_settings("host_store"), [t], [], d2h_stream))


def _check(graph: Graph, stream: Stream, kind: type[Stream]) -> None:
    op = get_current_context().op_name
    if not isinstance(stream, kind):
        raise WrongType(f"{op}: {stream!r} is not a popxl.{kind.__name__}")
    if stream._graph.ir is not graph.ir:
        raise CallError(f"{op}: {stream!r} is of another popxl.Ir than {graph!r}, the current graph")
