"""Compile libraries of Neuron operators against the installed PyTorch, and link them in the cache."""

from __future__ import annotations

import functools
import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from pykernels.base import paths
from pykernels.base.errors import BuildError, CompileFailed
from pykernels.build import cache, toolchain
from pykernels.build.diagnostics import first_error
from pykernels.frameworks.torch.registrar import VERSIONS
from pykernels.vendors.neuron.kernel_functions import defined_symbols, kernel_functions, rename, table
from pykernels.vendors.neuron.sources import dependencies

#: The number of a device's cores that run a kernel with ``multicore=True``.
_CORES = 8
#: The mark between a library and its description, which can be read without loading the library.
MARK = b"\nPYKERNELS_NEURON_LIBRARY "

_KIND = "neuron"
_HEADERS = paths.REGISTRY / "neuron" / "include"
_LIBRARY = paths.REGISTRY / "neuron" / "library.cpp"
# The modules that write the C++ code of every library.
_WRITERS = (Path(__file__), Path(__file__).with_name("kernel_functions.py"))
_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-Wno-narrowing")
# The line of PyTorch's header after which our members are included.
_CLASS_TENSOR = "class TORCH_API Tensor: public TensorBase {\n"
_LINK_ERROR = re.compile(r"(?m)^(?:.*[\s/])?(?P<file>[^\s:(]+):\([^)]*\): (?P<text>(?:undefined|multiple).*)$")


@dataclass(frozen=True)
class Recipe:
    """What a library is built from; messages show its paths, which stay as the user wrote them."""

    name: str
    kernels: Sequence[Path]
    shapes: Sequence[Path]
    flags: Sequence[str] = ()
    multicore: bool = False
    verbose: bool = field(default=False, compare=False)

    def digests(self) -> dict[Path, str]:
        """Return a digest of every file that the user has written for the library."""
        files = {file for source in (*self.kernels, *self.shapes) for file in dependencies(source, self.flags)}
        return {file: cache.digest([file]) for file in sorted(files)}


def build(recipe: Recipe) -> Path:
    """Return the library in the cache; compile and link it if it is missing.

    Raise CompileFailed if a file does not compile or the library does not link, BuildError if there is no compiler or
    this version of PyTorch is not supported, and CacheError if the cache cannot be written.
    """
    common = _common_key(recipe)
    sources = (*recipe.kernels, *recipe.shapes)
    objects = toolchain.in_parallel([functools.partial(_object, recipe, source, common) for source in sources])
    return _link(recipe, objects, common)


def _torch() -> Path:
    return Path(torch.__file__).parent


def _common_key(recipe: Recipe) -> list[str]:
    """Return what all files of a library depend on."""
    return [
        os.environ.get("CXX", ""),
        str(torch.__version__),
        str(_torch()),
        toolchain.headers(_HEADERS),
        *recipe.flags,
    ]


def _object(recipe: Recipe, source: Path, common: Sequence[str]) -> Path:
    key = cache.digest([*common, str(source), *dependencies(source, recipe.flags)])

    def make(output: Path) -> dict[str, Any]:
        toolchain.announce(f"compiling {source} for lib{recipe.name}.so")
        try:
            _run(recipe, [*_compile_command(), *recipe.flags, "-c", str(source), "-o", str(output)], what=str(source))
        except CompileFailed as error:
            message = first_error(error.output, source)
            raise CompileFailed(message, error.output) from error
        return {}

    return cache.build(_KIND, _entry(source.stem, key), f"{source.stem}.o", make).path


def _compile_command() -> list[str]:
    headers = _torch() / "include"
    return [
        *toolchain.compiler(),
        *_FLAGS,
        f"-I{_HEADERS}",
        *(f"-isystem{folder}" for folder in (headers, headers / "torch" / "csrc" / "api" / "include")),
        f'-DPYKERNELS_NEURON_TENSOR_BODY="{_tensor_body()}"',
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
    ]


def _tensor_body() -> Path:
    """Return a copy of PyTorch's header of class Tensor with our members."""
    original = _torch() / "include" / "ATen" / "core" / "TensorBody.h"
    try:
        text = original.read_text()
    except OSError as error:
        raise BuildError(f"PyTorch {torch.__version__} comes without its headers: {error}") from error
    if text.count(_CLASS_TENSOR) != 1:
        raise BuildError(
            f"PyTorch {torch.__version__} is not known: its class Tensor does not begin as expected, in {original}. "
            f"Neuron's operators are built against PyTorch {VERSIONS}"
        )

    def make(output: Path) -> dict[str, Any]:
        members = '#include "torchneuron/tensor_members.h"\n'
        output.write_text(text.replace(_CLASS_TENSOR, _CLASS_TENSOR + members))
        return {}

    return cache.build(_KIND, f"TensorBody-{cache.digest([text])}", "TensorBody.h", make).path


def _link(recipe: Recipe, objects: Sequence[Path], common: Sequence[str]) -> Path:
    own = [recipe.name, str(recipe.multicore), *(made.parent.name for made in objects)]
    key = cache.digest([*common, *own, _LIBRARY, *_WRITERS])
    compiled, shapes = objects[: len(recipe.kernels)], objects[len(recipe.kernels) :]

    def make(output: Path) -> dict[str, Any]:
        scratch = output.parent
        symbols = defined_symbols(compiled)
        glue = scratch / "library.cpp"
        glue.write_text(
            f'#include "{_LIBRARY}"\n\n{table(kernel_functions(symbols, recipe.kernels))}\n'
            f'extern "C" unsigned torchneuron_cores() {{ return {_CORES if recipe.multicore else 1}; }}\n'
        )
        kernels = rename(compiled, list(symbols), scratch)
        libraries = _torch() / "lib"
        command = [
            *toolchain.compiler(),
            *_FLAGS,
            f"-I{_HEADERS}",
            *recipe.flags,
            "-shared",
            *map(str, [glue, *kernels, *shapes]),
            f"-L{libraries}",
            *("-lc10", "-ltorch_cpu", "-ltorch"),
            *(f"-Wl,{option}" for option in (f"-rpath,{libraries}", "--no-undefined", f"-soname,lib{recipe.name}.so")),
            *("-o", str(output)),
        ]
        try:
            _run(recipe, command, what=f"lib{recipe.name}.so")
        except CompileFailed as error:
            raise CompileFailed(_first_link_error(error.output, recipe), error.output) from error
        _describe(output)
        for rest in (glue, scratch / "names", *kernels):
            rest.unlink()
        return {}

    return cache.build(_KIND, _entry(recipe.name, key), f"lib{recipe.name}.so", make).path


def _entry(name: str, key: str) -> str:
    # The cache reserves dots for the files that it puts beside an entry.
    return f"{name.replace('.', '_')}-{key}"


def _describe(library: Path) -> None:
    """Append a description to a library: the version of PyTorch, and a digest that shows damage."""
    content = library.read_bytes()
    description = json.dumps({"torch": str(torch.__version__), "digest": cache.digest([content])})
    library.write_bytes(content + MARK + description.encode())


def _first_link_error(output: str, recipe: Recipe) -> str:
    found = _LINK_ERROR.search(output)
    return f"{found['file']}: {found['text']}" if found else f"lib{recipe.name}.so does not link:\n{output.strip()}"


def _run(recipe: Recipe, command: Sequence[str], *, what: str) -> None:
    if recipe.verbose:
        _show(" ".join(command) + "\n")
    printed = toolchain.run(command, what=what)
    if recipe.verbose and printed:
        _show(printed)


def _show(text: str) -> None:
    # Write the text in one call, since several files are compiled at a time.
    sys.stdout.write(text)
    sys.stdout.flush()
