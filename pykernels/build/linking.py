"""Machine code of a kernel, linked with the part of the runtime that it needs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pykernels.base.paths import CPP_DEFS
from pykernels.build import cache
from pykernels.build.toolchain import compiler, run

__all__ = ["ENTRY", "LOADABLE", "RELOCATABLE", "RUNTIME", "link"]

#: The name of a compiled kernel's function of the ABI.
ENTRY = "pk_kernel_run"
#: The file names of what a process loads, and of what a library is linked from.
LOADABLE, RELOCATABLE = "kernel.so", "kernel.o"
_FOLDER = CPP_DEFS / "runtime"
#: The parts of the runtime: of each the file to compile, and what it includes.
RUNTIME = {
    name: (_FOLDER / f"{name}.cpp", *sorted((_FOLDER / name).glob("*.h")))
    for name in ("copying", "elementwise", "fused", "kernel_runtime")
}

_HEADERS = sorted((CPP_DEFS / "include" / "pykernels").glob("*.h"))
_FLAGS = ("-fPIC", "-std=c++17", "-O3", "-fvisibility=hidden")


def link(code: bytes, parts: Sequence[str], libraries: Sequence[str], output: Path, what: str) -> None:
    """Link machine code with parts of the runtime, which are compiled once and kept in the cache.

    Parameters
    ----------
    code : bytes
        A relocatable object.
    parts : sequence of str
        Keys of `RUNTIME`.
    libraries : sequence of str
        Paths, or ``-l`` and a name.
    output : Path
        Called `LOADABLE` or `RELOCATABLE`; the latter still needs the libraries.
    what : str
        For the message if it fails.

    Raises
    ------
    CompileFailed
        The compiler or the linker failed.
    BuildError
        There is no compiler.
    """
    object_path = output.with_name("code.o")
    object_path.write_bytes(code)
    flags = ["-shared", "-Wl,--exclude-libs,ALL", *libraries]
    if output.name == RELOCATABLE:
        flags = ["-r", "-nostdlib"]
    run(
        [*compiler().command, str(object_path), *(str(_compiled(part)) for part in parts), "-o", str(output), *flags],
        what=what,
    )
    object_path.unlink()


@functools.cache
def _key(part: str) -> str:
    return cache.digest([*RUNTIME[part], *_HEADERS, *_FLAGS])


def _compiled(part: str) -> Path:
    def make(path: Path) -> dict[str, Any]:
        include, source = f"-I{CPP_DEFS / 'include'}", str(RUNTIME[part][0])
        run([*compiler().command, *_FLAGS, include, "-c", source, "-o", str(path)], what=source)
        return {}

    return cache.build("runtime", _key(part), f"{part}.o", make).path
