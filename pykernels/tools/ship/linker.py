"""Reduce objects to one symbol each, and link them into a library."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from pykernels.base.errors import BuildError
from pykernels.build import toolchain
from pykernels.kernel.emit import vector_math

__all__ = ["isolate", "link"]


def isolate(source: Path, target: Path, symbol: str, name: str) -> Path:
    """Copy an object with all its symbols made local but `symbol`, which is called `name` from then on.

    Raises
    ------
    BuildError
        objcopy is missing, or fails.
    """
    objcopy = shutil.which("objcopy")
    if objcopy is None:
        raise BuildError("objcopy is not on the PATH; install it (Debian, Ubuntu: apt install binutils)")
    # Groups of sections are told apart by symbols, which are now local.
    merged = target.with_suffix(".merged.o")
    command = toolchain.compiler().command
    flags = ["-r", "-nostdlib", "-Wl,--force-group-allocation"]
    toolchain.run([*command, *flags, str(source), "-o", str(merged)], what=str(source))
    renamed = [f"--redefine-sym={symbol}={name}", f"--keep-global-symbol={name}"]
    toolchain.run([objcopy, *renamed, str(merged), str(target)], what=str(source))
    merged.unlink()
    return target


def link(objects: Sequence[Path], exported: Sequence[str], output: Path) -> None:
    """Link a library that needs nothing but the C library, and shows these symbols.

    Raises
    ------
    CompileFailed
        The linker failed: the message names what is missing.
    """
    script = output.with_suffix(".map")
    script.write_text(f"{{ global: {' '.join(f'{name};' for name in exported)} local: *; }};\n")
    mathematics = ["-lm"]
    if vector_math.identity() != "no vector math library":
        mathematics.insert(0, str(vector_math.path()))
    flags = [
        *("-shared", "-s", "-static-libstdc++", "-static-libgcc"),
        *(f"-Wl,--version-script={script}", "-Wl,-z,defs", "-Wl,--gc-sections", "-Wl,--as-needed"),
    ]
    command = [*toolchain.compiler().command, *flags, *map(str, objects), "-o", str(output), *mathematics]
    toolchain.run(command, what=output.name)
    script.unlink()
