"""``popxl`` of Graphcore's Poplar SDK, where it is not installed: its graphs, run by ONNX Runtime on the CPU.

After ``import pykernels.vendors.popxl``, ``import popxl`` works without Graphcore's packages; where they are installed
it gives theirs.
"""

from __future__ import annotations

from typing import Any

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
from pykernels.vendors.popxl.ir import Ir
from pykernels.vendors.popxl.missing import missing
from pykernels.vendors.popxl.module import Module
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
from pykernels.vendors.providing import provide

__all__ = [
    "Constant",
    "DeviceToHostStream",
    "Graph",
    "HostToDeviceStream",
    "Ir",
    "Module",
    "Session",
    "Tensor",
    "TensorByRef",
    "TensorSpec",
    "Variable",
    "constant",
    "d2h_stream",
    "dtype",
    "gcg",
    "get_current_graph",
    "get_ir",
    "get_main_graph",
    "gir",
    "gmg",
    "graph_input",
    "graph_output",
    "h2d_stream",
    "in_sequence",
    "io_tiles",
    "ipu",
    "name_scope",
    "ops",
    "transforms",
    "variable",
]

provide("popxl", __name__)
provide_popart()

_dtypes = {**DTYPES, "half": DTYPES["float16"], "float": DTYPES["float32"], "double": DTYPES["float64"]}


def __getattr__(name: str) -> Any:
    if name in _dtypes:
        return _dtypes[name]
    raise missing("popxl", name, [*__all__, *_dtypes])
