"""Build ``libpopart.so`` and what compilers need to use it, once, in the cache."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pykernels.base import paths
from pykernels.build import cache, toolchain
from pykernels.kernel.emit import target
from pykernels.vendors.popart.refused import REFUSED

_KIND = "popart"
_SOURCES = paths.REGISTRY / "popart"
_HEADERS = _SOURCES / "include"
#: The compiler's flags for the instruction sets of processors.
_INSTRUCTIONS = dict.fromkeys(("avx2", "avx512"), ("-mavx2", "-mfma", "-mf16c")) | {"sse4.2": ("-msse4.2",)}
#: Further libraries that users link with; ``libpopart.so`` has their content.
_OTHER_LIBRARIES = ("poplar", "popops", "poputil", "popart_canonicalization")


def build() -> Path:
    """Return ``libpopart.so``; compile it if the cache has none for these sources.

    Raise BuildError if there is no compiler or compiling fails, and CacheError if the cache cannot be written.
    """
    return toolchain.build_shared(
        "libpopart",
        sorted(_SOURCES.glob("*.cpp")),
        kind=_KIND,
        flags=(
            *("-O2", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fvisibility=default"),
            *_INSTRUCTIONS.get(target.instruction_set().name, ()),
            *(f"-I{folder}" for folder in (_folder() / "include", paths.REGISTRY)),
        ),
        include=(_HEADERS, _SOURCES),
        libraries=("-Wl,-soname,libpopart.so", "-ldl"),
        key=[toolchain.headers(paths.REGISTRY / folder) for folder in ("host", "onnxruntime")],
    )


def headers_symbol() -> str:
    """Return the symbol that shows which headers a library was built with."""
    return f"popart_cpu_headers_{toolchain.headers(_HEADERS)}"


def flags() -> list[str]:
    """Return the compiler's flags for a library of ops; raises as `build` does."""
    library = build()
    return [*(f"-I{folder}" for folder in _include()), f"-L{library.parent}", f"-L{_folder() / 'lib'}", "-lpopart"]


def variables() -> dict[str, str]:
    """Return the environment variables that locate the headers and the library; raises as `build` does."""
    library = build()
    folders = {
        "CPLUS_INCLUDE_PATH": _include(),
        "LIBRARY_PATH": [library.parent, _folder() / "lib"],
        "LD_LIBRARY_PATH": [library.parent],
    }
    return {name: os.pathsep.join(map(str, found)) for name, found in folders.items()}


def environment() -> dict[str, str]:
    """Return `variables`, prepended to their values in this process; raises as `build` does."""
    return {
        name: os.pathsep.join([value, *filter(None, [os.environ.get(name)])]) for name, value in variables().items()
    }


def _include() -> list[Path]:
    return [_folder() / "include", _HEADERS]


def _folder() -> Path:
    """Return the folder of generated files for users: headers and linker scripts of libraries."""
    mark = headers_symbol()

    def make(output: Path) -> dict[str, Any]:
        output.parent.mkdir(parents=True)
        output.write_text(f"#define POPART_CPU_HEADERS {mark}\n")
        include = output.parents[1]
        for name, what in REFUSED.items():
            header = include / name
            header.parent.mkdir(parents=True, exist_ok=True)
            header.write_text(f'#error "<{name}> is not provided: PopART on the CPU has no {what}"\n')
        libraries = include.parent / "lib"
        libraries.mkdir()
        for name in _OTHER_LIBRARIES:
            (libraries / f"lib{name}.so").write_text("INPUT(-lpopart)\n")
        return {}

    key = cache.digest([mark, Path(__file__), Path(__file__).with_name("refused.py")])
    return cache.build(_KIND, f"include-{key}", "include/popart_cpu/headers.hpp", make).path.parents[2]
