"""Assemble a library: compile and link everything that goes into it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import llvmlite.binding as llvm

from pykernels.base import paths
from pykernels.base.errors import BuildError
from pykernels.build import cache, linking, processor, toolchain
from pykernels.define.cpp_def import compile_object
from pykernels.load.folders import CPP_DEF
from pykernels.load.module import OpModule
from pykernels.tools.ship import linker, source
from pykernels.tools.ship.kernels import LibraryKernel
from pykernels.tools.ship.source import LibraryOp

__all__ = ["assemble", "check_definition"]

_FLAGS = ("-O2", "-ffunction-sections", "-fdata-sections")
_INCLUDE = (paths.CPP_DEFS / "include", paths.REGISTRY)
_PARTS = (paths.REGISTRY / "host.cpp", paths.REGISTRY / "library.cpp")
_MATRIX_PRODUCT = paths.REGISTRY / "library" / "matrix_product.cpp"
_DEFINITION = "pykernels_definition"


def check_definition(module: OpModule) -> None:
    """Raise `BuildError` if the definition of a folder needs Python."""
    path = module.files[CPP_DEF]
    if path.suffix == ".py":
        raise BuildError(
            f"op {module.name!r}: its definition {path} is Python, which a library cannot hold; write it as "
            f"{module.name}{CPP_DEF}"
        )


def assemble(
    output: Path,
    kernels: Mapping[OpModule, Sequence[LibraryKernel]],
    ops: Sequence[LibraryOp],
    parts: Sequence[Path],
    exported: Sequence[str],
) -> None:
    """Link a library, in a folder of its own that may hold what else is needed on the way.

    Parameters
    ----------
    kernels : mapping of OpModule to sequence of LibraryKernel
        In the order of the definitions that `ops` refer to.
    ops : sequence of LibraryOp
    parts : sequence of Path
        Other sources than those that are in every library.
    exported : sequence of str
        The functions that the library shows.

    Raises
    ------
    BuildError
        There is no compiler, or it failed.
    """
    folder = output.parent
    flat = [kernel for group in kernels.values() for kernel in group]
    tables = folder / "tables.cpp"
    tables.write_text(source.tables(ops, flat))
    sources = [*_PARTS, *parts, tables]

    def definition(number: int, module: OpModule) -> Path:
        symbol = source.definition_symbol(number)
        return linker.isolate(compile_object(module.files[CPP_DEF]), folder / f"{symbol}.o", _DEFINITION, symbol)

    def kernel(number: int, made: LibraryKernel) -> Path:
        symbol = source.kernel_symbol(number)
        return linker.isolate(made.path, folder / f"{symbol}.o", linking.ENTRY, symbol)

    products = [_matrix_product()] if any(made.needs_blas for made in flat) else []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # What takes longest goes first.
        objects = [
            *products,
            *pool.map(_compile, sources),
            *pool.map(definition, itertools.count(), kernels),
            *pool.map(kernel, itertools.count(), flat),
        ]
    linker.link(objects, exported, output)


def _compile(part: Path) -> Path:
    """The object of a source: from the cache if it is one of ours, and was not written for this library alone."""
    if paths.REGISTRY in part.parents:
        return toolchain.build_object(part.stem, part, kind="runtime", flags=_FLAGS, include=_INCLUDE, key=(_key(),))
    made = part.with_suffix(".o")
    include = [f"-I{folder}" for folder in _INCLUDE]
    command = [*toolchain.compiler().command, "-std=c++17", "-fPIC", "-fvisibility=hidden", "-O1", *include]
    toolchain.run([*command, "-c", str(part), "-o", str(made)], what=part.name)
    return made


def _matrix_product() -> Path:
    """The object of the matrix products, which is as fast as the chosen processor, like kernels."""
    flags = ("-O3", f"-march={processor.chosen()}", *_FLAGS[1:])
    # What the compiler makes for the processor at hand is for no other that may share the cache.
    features = llvm.get_host_cpu_features().flatten() if processor.chosen() == processor.NATIVE else ""
    return toolchain.build_object(
        _MATRIX_PRODUCT.stem, _MATRIX_PRODUCT, kind="runtime", flags=flags, include=_INCLUDE, key=(features,)
    )


def _key() -> str:
    """What tells the versions of the sources apart that others include."""
    folders = ("host", "library", "onnxruntime")
    return cache.digest(part for folder in folders for part in sorted((paths.REGISTRY / folder).glob("*.cpp")))
