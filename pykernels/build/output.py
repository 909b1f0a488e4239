"""Write the output files of a command: all of them, or none."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pykernels.base.errors import BuildError


@contextmanager
def replacing(outputs: Sequence[Path]) -> Iterator[Mapping[Path, Path]]:
    """Yield temporary files that replace `outputs` at the end of the block: all, or none and a `BuildError`."""
    for output in outputs:
        if output.is_dir():
            raise BuildError(f"{output} cannot be written: it is a directory")
        if output.exists() and not output.is_file():
            # Replacing a device file would remove it for the whole system.
            raise BuildError(f"{output} cannot be written: it is not a regular file")
    try:
        folder = Path(tempfile.mkdtemp(prefix=".pykernels-", dir=outputs[0].parent))
    except OSError as error:
        raise BuildError(f"{outputs[0]} cannot be written: {error.strerror}") from error
    try:
        temporary = {output: folder / output.name for output in outputs}
        yield temporary
        for output, file in temporary.items():
            os.replace(file, output)
    except OSError as error:
        raise BuildError(f"{error.filename or outputs[0]} cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
