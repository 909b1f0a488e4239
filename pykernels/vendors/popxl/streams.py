"""Streams into and out of a run."""

from __future__ import annotations

from collections.abc import Iterable

from pykernels.vendors.popxl.context import gmg
from pykernels.vendors.popxl.dtypes import check_dtype, dtype
from pykernels.vendors.popxl.graph import Graph
from pykernels.vendors.popxl.tensor import TensorSpec

__all__ = ["DeviceToHostStream", "HostToDeviceStream", "Stream", "d2h_stream", "h2d_stream"]


class Stream:
    """A stream of arrays of one shape and dtype.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    tensor_id : str
        Its name, made unique.
    """

    def __init__(self, graph: Graph, tensor_id: str, shape: Iterable[int], dtype: dtype) -> None:
        self._graph = graph
        self.tensor_id = tensor_id
        self.shape = tuple(int(size) for size in shape)
        self.dtype = dtype

    @property
    def spec(self) -> TensorSpec:
        """Shape and dtype."""
        return TensorSpec(self.shape, self.dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.tensor_id} {self.dtype} {self.shape}]"


class HostToDeviceStream(Stream):
    """A stream that `ops.host_load` reads from."""


class DeviceToHostStream(Stream):
    """A stream that `ops.host_store` writes to."""


def h2d_stream(shape: Iterable[int], dtype: dtype, name: str | None = None) -> HostToDeviceStream:
    """A stream into the graphs of the chosen IR.

    Raises
    ------
    RuntimeError, TypeError
        No graph has been chosen; `dtype` is none of popxl's.
    """
    check_dtype("popxl.h2d_stream", dtype)
    main = gmg()
    return HostToDeviceStream(main, main._create_tensor_id(name or "h2d_stream"), shape, dtype)


def d2h_stream(shape: Iterable[int], dtype: dtype, name: str | None = None) -> DeviceToHostStream:
    """A stream out of the graphs of the chosen IR; errors are those of `h2d_stream`."""
    check_dtype("popxl.d2h_stream", dtype)
    main = gmg()
    return DeviceToHostStream(main, main._create_tensor_id(name or "d2h_stream"), shape, dtype)
