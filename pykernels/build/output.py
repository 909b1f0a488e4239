"""Write the files of a command all at once, or none of them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pykernels.base.errors import BuildError

__all__ = ["replacing"]


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
