"""Stand in for ``popxl`` of Graphcore's Poplar SDK: run its graphs with ONNX Runtime on the CPU.

After ``import pykernels.vendors.popxl``, ``import popxl`` works without Graphcore's packages. If they are installed, it
imports theirs.
"""

from __future__ import annotations

from pykernels.vendors.popxl import ops, transforms
from pykernels.vendors.popxl.context import (
    gcg,
    get_current_graph,
    get_ir,
    get_main_graph,
    gir,
    gmg,
    in_sequence,
    io_tiles,
    ipu,
    name_scope,
)
from pykernels.vendors.popxl.cpp_imports import provide_popart
from pykernels.vendors.popxl.dtypes import DTYPES, dtype
from pykernels.vendors.popxl.graph import Graph
from pykernels.vendors.popxl.ir import Ir, Module
from pykernels.vendors.popxl.session import Session
from pykernels.vendors.popxl.streams import DeviceToHostStream, HostToDeviceStream, d2h_stream, h2d_stream
from pykernels.vendors.popxl.tensor import (
    Constant,
    Tensor,
    TensorByRef,
    TensorSpec,
    Variable,
    constant,
    graph_input,
    graph_output,
    variable,
)
from pykernels.vendors.providing import missing, provide

__all__ = ["Constant", "DeviceToHostStream", "Graph", "HostToDeviceStream", "Ir", "Module", "Session", "Tensor"]
__all__ += ["TensorByRef", "TensorSpec", "Variable", "constant", "d2h_stream", "dtype", "gcg", "get_current_graph"]
__all__ += ["get_ir", "get_main_graph", "gir", "gmg", "graph_input", "graph_output", "h2d_stream", "in_sequence"]
__all__ += ["io_tiles", "ipu", "name_scope", "ops", "transforms", "variable"]

provide("popxl", __name__)
provide_popart()

_DTYPES = {**DTYPES, "half": DTYPES["float16"], "float": DTYPES["float32"], "double": DTYPES["float64"]}
globals().update(_DTYPES)

__getattr__ = missing("popxl", [*__all__, *_DTYPES], __name__)
