"""Define the streams that carry data into and out of a run."""

from __future__ import annotations

from collections.abc import Iterable

from pykernels.vendors.popxl.context import AnyGraph, gmg
from pykernels.vendors.popxl.dtypes import check_dtype, dtype
from pykernels.vendors.popxl.tensor import TensorSpec


class Stream:
    """A stream of arrays of one shape and dtype.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    tensor_id : str
        The stream's unique name.
    """

    def __init__(self, graph: AnyGraph, tensor_id: str, shape: Iterable[int], dtype: dtype) -> None:
        self._graph = graph
        self.tensor_id = tensor_id
        self.shape = tuple(int(size) for size in shape)
        self.dtype = dtype

    @property
    def spec(self) -> TensorSpec:
        """The shape and dtype."""
        return TensorSpec(self.shape, self.dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.tensor_id} {self.dtype} {self.shape}]"


class HostToDeviceStream(Stream):
    """A stream from which `ops.host_load` reads."""


class DeviceToHostStream(Stream):
    """A stream to which `ops.host_store` writes."""


def h2d_stream(shape: Iterable[int], dtype: dtype, name: str | None = None) -> HostToDeviceStream:
    """Return a new stream from the host into the graphs of the current IR.

    Raises
    ------
    RuntimeError
        No graph has been chosen.
    TypeError
        `dtype` is not a popxl dtype.
    """
    check_dtype("popxl.h2d_stream", dtype)
    main = gmg()
    return HostToDeviceStream(main, main._create_tensor_id(name or "h2d_stream"), shape, dtype)


def d2h_stream(shape: Iterable[int], dtype: dtype, name: str | None = None) -> DeviceToHostStream:
    """Return a new stream from the graphs of the current IR to the host; errors are those of `h2d_stream`."""
    check_dtype("popxl.d2h_stream", dtype)
    main = gmg()
    return DeviceToHostStream(main, main._create_tensor_id(name or "d2h_stream"), shape, dtype)
