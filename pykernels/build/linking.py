"""Link a kernel's machine code with the parts of the runtime that it needs."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from pathlib import Path

from pykernels.base.errors import BuildError
from pykernels.base.paths import CPP_DEFS
from pykernels.build import cache, machine, processor, toolchain

#: The name of the ABI function of a compiled kernel.
ENTRY = "pk_kernel_run"
#: The file names of a kernel that a process loads, and of one that is linked into a library.
LOADABLE, RELOCATABLE = "kernel.so", "kernel.o"
_FOLDER = CPP_DEFS / "runtime"
_PARTS = (
    "contraction",
    "copying",
    "elementwise",
    "fused",
    "kernel_runtime",
    "ordering",
    "places",
    "python_calls",
    "systems",
)
# The folder of a part's headers, if it is another part's.
_HEADERS = {"places": "ordering"}
#: The parts of the runtime: the file of each to compile, and the headers that it includes.
RUNTIME = {
    name: (_FOLDER / f"{name}.cpp", *sorted((_FOLDER / _HEADERS.get(name, name)).glob("*.h"))) for name in _PARTS
}

#: The parts that fused kernels need, by whether they are elementwise, and that nearly all need that numba compiles.
FOR_FUSED, FOR_NUMBA = {True: ("elementwise",), False: ("fused", "copying")}, ("kernel_runtime", "copying")

#: The C++ types of the dtypes for which `TYPED` parts are compiled, one by one: kernels rarely need several.
C_TYPES = {"bool": "bool", "float32": "float", "float64": "double"}
C_TYPES |= {f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
#: The parts of the runtime whose functions end with the name of a dtype.
TYPED = ("contraction", "ordering", "places")
# -O3 takes up to twice as long, for nothing: the code names the loops to unroll.
_LEVEL = ("-O2", "-ftree-vectorize")

_INCLUDE = CPP_DEFS / "include"


def link(
    code: bytes, parts: Sequence[str], libraries: Sequence[str], output: Path, what: str, objects: Sequence[Path] = ()
) -> None:
    """Link machine code, a relocatable object, with parts of the runtime, which are compiled once and cached.

    Parameters
    ----------
    parts : sequence of str
        Keys of `RUNTIME`; of `TYPED` parts, with the dtype: ``ordering:float32``.
    libraries : sequence of str
        Paths, or ``-l`` and a name.
    output : Path
        Its name is `LOADABLE` or `RELOCATABLE`; a relocatable file still needs the libraries.
    what : str
        What is linked, for the `CompileFailed` that this raises if the compiler or the linker fails.
    objects : sequence of Path, optional
        Further object files.
    """
    object_path = output.with_name("code.o")
    object_path.write_bytes(code)
    # Neither our runtime nor kernels need the C++ library or its start files, which take half of the linker's time.
    flags = ["-shared", "-nostdlib", "-Wl,--exclude-libs,ALL", *libraries, "-lc", "-lgcc"]
    if output.name == RELOCATABLE:
        flags = ["-r", "-nostdlib"]
    compiled = toolchain.in_parallel([functools.partial(_compiled, part) for part in parts])
    files = [object_path, *objects, *compiled]
    toolchain.run([*toolchain.compiler(), *map(str, files), "-o", str(output), *flags], what=what)
    object_path.unlink()


def compiling(parts: Sequence[str]) -> contextlib.AbstractContextManager[None]:
    """Compile parts of the runtime beside a block that ends with `link`, which waits for them."""
    return toolchain.beside([functools.partial(_compiled, part) for part in parts])


def find_objcopy() -> str | None:
    """Return the path of the program that `isolate` needs; None if it is missing."""
    import shutil  # not above: a kernel from the cache is not linked

    return shutil.which("objcopy")


def isolate(sources: Sequence[Path], target: Path, symbol: str, name: str) -> Path:
    """Merge object files; rename `symbol` to `name`, and make all other symbols local; return the merged file.

    Raises
    ------
    BuildError
        There is no ``objcopy``, or a tool failed.
    """
    objcopy = find_objcopy()
    if objcopy is None:
        raise BuildError("objcopy is not on the PATH; install it (Debian, Ubuntu: apt install binutils)")
    # Symbols distinguish groups of sections, but they become local.
    merged = target.with_suffix(".merged.o")
    flags = ["-r", "-nostdlib", "-Wl,--force-group-allocation"]
    what = str(sources[0])
    toolchain.run([*toolchain.compiler(), *flags, *map(str, sources), "-o", str(merged)], what=what)
    renamed = [f"--redefine-sym={symbol}={name}", f"--keep-global-symbol={name}"]
    toolchain.run([objcopy, *renamed, str(merged), str(target)], what=what)
    merged.unlink()
    return target


def _compiled(part: str) -> Path:
    name, _, dtype = part.partition(":")
    source, *headers = RUNTIME[name]
    typed = (f"-DPK_TYPE={C_TYPES[dtype]}", f"-DPK_TYPED(name)=name##_{dtype}") if dtype else ()
    key = (cache.digest(headers),)
    flags = ("-fno-exceptions", *_LEVEL, *_vectors(name), *typed)
    return toolchain.build_object(name, source, kind="runtime", flags=flags, include=(_INCLUDE,), key=key)


def _vectors(part: str) -> tuple[str, ...]:
    """Return the compiler's flags for vectors of the chosen processor; wider ones gain nothing but in sorting."""
    found = set(machine.flags_needed(processor.chosen()))
    if part == "ordering" and {"avx512bw", "avx512dq", "avx512vl"} <= found:
        return ("-mavx512bw", "-mavx512dq", "-mavx512vl")
    return ("-mavx2",) if found & {"avx2", "avx512f"} else ("-msse4.2",) if "sse4_2" in found else ()
