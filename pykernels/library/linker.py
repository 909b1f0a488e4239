"""Objects of one symbol each, and the library that they are linked into."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pykernels import toolchain
from pykernels.errors import BuildError
from pykernels.kernel import vector_math

__all__ = ["isolate", "link", "replacing"]


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


@contextmanager
def replacing(outputs: Sequence[Path]) -> Iterator[Mapping[Path, Path]]:
    """Temporary files that take the place of `outputs` at the end of the block, all or none.

    Raises
    ------
    BuildError
        One cannot be written where it is to be.
    """
    for output in outputs:
        if output.is_dir():
            raise BuildError(f"{output} cannot be written: it is a directory")
        if output.exists() and not output.is_file():
            # To replace a device would take it from the whole system.
            raise BuildError(f"{output} cannot be written: it is no regular file")
    try:
        folder = Path(tempfile.mkdtemp(prefix=".pykernels-", dir=outputs[0].parent))
    except OSError as error:
        raise BuildError(f"{outputs[0]} cannot be written: {error.strerror}") from error
    try:
        made = {output: folder / output.name for output in outputs}
        yield made
        for output, file in made.items():
            os.replace(file, output)
    except OSError as error:
        raise BuildError(f"{error.filename or outputs[0]} cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
