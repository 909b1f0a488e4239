"""Load libraries of ops that users have built with our headers."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykernels.base.errors import LoadError
from pykernels.build import toolchain
from pykernels.vendors.popart import build

if TYPE_CHECKING:
    import onnxruntime

#: The size of the buffer for the results of the functions in interface.h.
_SIZE = 1 << 18
# The prefix of an undefined symbol that shows which headers a library was built with.
_MARK = b"popart_cpu_headers_"
_UNDEFINED = re.compile(r"undefined symbol: (\w+)")


def is_library(path: Path) -> bool:
    """Whether a file is a library of ops in C++ that uses PopART's names.

    Raise LoadError if the library is for Graphcore's own PopART, or cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}") from error
    if _MARK not in content and b"libpopart.so" in content:
        raise LoadError(
            f"{path} is built for Graphcore's PopART; build it again with our headers: python -m pykernels run make"
        )
    return _MARK in content


def explain(path: Path, reason: str) -> str:
    """Explain why a library cannot be loaded, given the message of the system's loader."""
    found = _UNDEFINED.search(reason)
    if found is None:
        return f"{path} cannot be loaded: {reason}"
    if found[1].startswith(_MARK.decode()):
        return f"{path} is built with the headers of another version of pykernels: build it again"
    name = found[1]
    if shutil.which("c++filt"):
        name = toolchain.run(["c++filt", name], what="reading symbols").strip()
    return f"{path} needs {name}, which PopART on the CPU does not have (docs/popart.md says what it has)"


def register(options: onnxruntime.SessionOptions, libraries: Sequence[Path]) -> None:
    """Register the ops of libraries with the options of a session.

    Raise LoadError if a library cannot be loaded or registers its ops wrongly; other errors are those of `build.build`.
    """
    popart()
    for path in libraries:
        try:
            ctypes.CDLL(os.path.realpath(path))
        except OSError as error:
            raise LoadError(explain(path, str(error))) from error
    names = [os.path.realpath(path).encode() for path in libraries]
    try:
        call("popart_cpu_offer_libraries", (ctypes.c_char_p * len(names))(*names), ctypes.c_int32(len(names)))
    except LoadError as error:
        raise LoadError(f"{', '.join(map(str, libraries))}: {error}") from error
    register_offered(options)


def register_offered(options: onnxruntime.SessionOptions) -> None:
    """Register the ops that have been offered to ``libpopart.so`` with the options of a session."""
    try:
        options.register_custom_ops_library(str(build.build()))
    except Exception as error:
        raise LoadError(f"ONNX Runtime does not take the ops: {error}") from error


def call(function: str, *arguments: Any) -> Any:
    """Return the result of a function in interface.h; raise `LoadError` with its message if it fails."""
    text = ctypes.create_string_buffer(_SIZE)
    if getattr(popart(), function)(*arguments, text, ctypes.c_size_t(_SIZE)) != 0:
        raise LoadError(text.value.decode(errors="replace"))
    return json.loads(text.value)


@functools.lru_cache(maxsize=1)
def popart() -> ctypes.CDLL:
    """Load ``libpopart.so`` into this process, where users' libraries and modules find it."""
    return ctypes.CDLL(str(build.build()), mode=ctypes.RTLD_GLOBAL)
