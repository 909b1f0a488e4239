"""Compile and link everything that a library contains."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import llvmlite.binding as llvm

from pykernels.base import paths
from pykernels.base.errors import BuildError
from pykernels.build import cache, linking, processor, toolchain
from pykernels.define.cpp_def import compile_objects
from pykernels.kernel.emit import vector_math
from pykernels.load.folders import CPP_DEF
from pykernels.load.module import OpModule
from pykernels.tools.ship import source
from pykernels.tools.ship.kernels import Kernels, LibraryKernel
from pykernels.tools.ship.source import LibraryOp

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
            f"op {module.name!r}: its definition {path} is Python, which a library cannot contain; write it as "
            f"{module.name}{CPP_DEF}"
        )


def assemble(
    output: Path, kernels: Kernels, ops: Sequence[LibraryOp], parts: Sequence[Path], exported: Sequence[str]
) -> None:
    """Compile and link a library in a folder of its own, which also gets temporary files.

    `kernels` are in the order of the definitions that `ops` refer to. `parts` are sources in addition to those of every
    library, and `exported` the functions that it exports.
    """
    folder = output.parent
    flat = [kernel for group in kernels.values() for kernel in group]
    tables = folder / "tables.cpp"
    tables.write_text(source.tables(ops, flat))
    sources = [*_PARTS, *parts, tables]

    def definition(number: int, module: OpModule) -> Path:
        symbol = source.definition_symbol(number)
        return linking.isolate(compile_objects(module.files[CPP_DEF]), folder / f"{symbol}.o", _DEFINITION, symbol)

    def kernel(number: int, made: LibraryKernel) -> Path:
        symbol = source.kernel_symbol(number)
        return linking.isolate([made.path], folder / f"{symbol}.o", linking.ENTRY, symbol)

    products = [_matrix_product()] if any(made.facts.blas for made in flat) else []
    # The slowest go first.
    objects = toolchain.in_parallel(
        [
            *(functools.partial(_compile, each) for each in sources),
            *(functools.partial(definition, *each) for each in enumerate(kernels)),
            *(functools.partial(kernel, *each) for each in enumerate(flat)),
        ]
    )
    _link([*products, *objects], exported, output)


def _compile(part: Path) -> Path:
    """Compile a source; objects of our own sources, which are the same for every library, are cached."""
    if paths.REGISTRY in part.parents:
        return toolchain.build_object(part.stem, part, kind="runtime", flags=_FLAGS, include=_INCLUDE, key=(_key(),))
    made = part.with_suffix(".o")
    include = [f"-I{folder}" for folder in _INCLUDE]
    command = [*toolchain.compiler(), "-std=c++17", "-fPIC", "-fvisibility=hidden", "-O1", *include]
    toolchain.run([*command, "-c", str(part), "-o", str(made)], what=part.name)
    return made


def _matrix_product() -> Path:
    """Compile the matrix products for the chosen processor, like kernels."""
    flags = ("-O3", f"-march={processor.chosen()}", *_FLAGS[1:])
    # Another processor that shares the cache must not use code for this one.
    features = llvm.get_host_cpu_features().flatten() if processor.chosen() == processor.NATIVE else ""
    return toolchain.build_object(
        _MATRIX_PRODUCT.stem, _MATRIX_PRODUCT, kind="runtime", flags=flags, include=_INCLUDE, key=(features,)
    )


def _key() -> str:
    """Return a digest of the sources that other sources include."""
    folders = ("host", "library", "onnxruntime")
    return cache.digest(part for folder in folders for part in sorted((paths.REGISTRY / folder).glob("*.cpp")))


def _link(objects: Sequence[Path], exported: Sequence[str], output: Path) -> None:
    """Link a library that needs only the C library, and exports these symbols."""
    script = output.with_suffix(".map")
    script.write_text(f"{{ global: {' '.join(f'{name};' for name in exported)} local: *; }};\n")
    mathematics = ["-lm"]
    if vector_math.identity() != "no vector math library":
        mathematics.insert(0, str(vector_math.path()))
    flags = [
        *("-shared", "-s", "-static-libstdc++", "-static-libgcc"),
        *(f"-Wl,--version-script={script}", "-Wl,-z,defs", "-Wl,--gc-sections", "-Wl,--as-needed"),
    ]
    command = [*toolchain.compiler(), *flags, *map(str, objects), "-o", str(output), *mathematics]
    toolchain.run(command, what=output.name)
    script.unlink()
