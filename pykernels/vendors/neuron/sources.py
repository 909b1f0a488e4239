"""Find the files that the result of compiling a C++ file depends on."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.M)
_FOLDER_OPTIONS = ("-iquote", "-isystem", "-idirafter", "-I")


def dependencies(source: Path, flags: Sequence[str]) -> list[Path]:
    """Return a C++ file and the user's headers that it includes, under any preprocessor conditions.

    The user's options for the compiler name folders of headers. Headers that are neither there nor beside the file that
    includes them belong to the system or to PyTorch.
    """
    folders = [Path(folder) for folder in _named(flags, _FOLDER_OPTIONS)]
    found: dict[Path, None] = {}
    pending = [source, *map(Path, _named(flags, ("-include",)))]
    while pending:
        file = pending.pop()
        if file in found or not file.is_file():
            continue
        found[file] = None
        for name in _INCLUDE.findall(file.read_text(errors="replace")):
            pending += [folder / name for folder in (file.parent, *folders) if (folder / name).is_file()]
    return list(found)


def _named(flags: Sequence[str], options: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of `options`, which are part of the same flag or the next one."""
    for flag, following in itertools.zip_longest(flags, flags[1:], fillvalue=""):
        for option in options:
            if flag.startswith(option):
                yield flag[len(option) :] or following
                break
