"""Build a library of custom ops for ONNX Runtime, which needs no Python."""

from __future__ import annotations

from pathlib import Path

from pykernels.base import paths
from pykernels.base.errors import BuildError
from pykernels.build.output import replacing
from pykernels.frameworks.onnxruntime.node_dtypes import dtype_rows
from pykernels.frameworks.onnxruntime.nodes import NodeName, node_names
from pykernels.load import requests
from pykernels.load.module import OpModule
from pykernels.tools.ship.assembly import assemble
from pykernels.tools.ship.kernels import Kernels
from pykernels.tools.ship.source import LibraryOp

_PARTS = tuple(paths.REGISTRY / name for name in ("onnxruntime/ops.cpp", "library/onnxruntime.cpp"))
#: The function that ONNX Runtime calls.
_ENTRY = "RegisterCustomOps"


def build_onnx_library(output: Path, kernels: Kernels, *, domain: str | None = None) -> list[LibraryOp]:
    """Write a library of the custom ops that have kernels, and return these ops.

    `domain` is the domain of all nodes, instead of those that the folders choose. This raises `BuildError` if two ops
    have the same name, no compiler is installed, it failed, or `output` cannot be written, which then stays as it was.
    """
    ops: list[LibraryOp] = []
    owners: dict[NodeName, OpModule] = {}
    for number, (module, group) in enumerate(kernels.items()):
        rows = dtype_rows(module)
        compiled = {kernel.op for kernel in group}
        for name, op in node_names(module, domain=domain):
            if op not in compiled:
                continue
            requests.require_outputs(op, "ONNX Runtime")
            if name in owners:
                raise BuildError(f"two folders define the ONNX op {name}: {owners[name].path} and {module.path}")
            owners[name] = module
            ops.append(LibraryOp(op, number, name.domain, name.op_type, rows[op.name]))
    with replacing([output]) as temporary:
        assemble(temporary[output], kernels, ops, _PARTS, [_ENTRY])
    return ops
