"""A library for programs in C, with a header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pykernels.base import paths
from pykernels.base.errors import BuildError
from pykernels.build.output import replacing
from pykernels.load.module import OpModule
from pykernels.tools.ship import c_source
from pykernels.tools.ship.assembly import assemble
from pykernels.tools.ship.kernels import LibraryKernel
from pykernels.tools.ship.source import LibraryOp

__all__ = ["build_c_library"]

_PART = paths.REGISTRY / "library" / "c_api.cpp"


def build_c_library(output: Path, kernels: Mapping[OpModule, Sequence[LibraryKernel]]) -> list[LibraryOp]:
    """Write a library, and beside it a header of its name, with a function for each op that has kernels.

    Parameters and errors are those of `onnx_library.build_onnx_library`.
    """
    if output.suffix == ".h":
        raise BuildError(f"{output} is the name of a header; the one of the library gets it")
    ops: list[LibraryOp] = []
    for number, (module, group) in enumerate(kernels.items()):
        where = {kernel.op.name: kernel.where for kernel in group}
        for op in module.definition.ops.values():
            if op.name in where:
                part = op.name.removeprefix(module.name)
                name = module.name if part == "_forward" else op.name
                ops.append(LibraryOp(op, number, "", name, where[op.name], ()))
    header = output.with_suffix(".h")
    with replacing([output, header]) as made:
        made[header].write_text(c_source.header(ops, output.name))
        functions = made[output].parent / "functions.cpp"
        functions.write_text(c_source.source(ops, header.name))
        assemble(made[output], kernels, ops, [_PART, functions], c_source.functions(ops))
    return ops
