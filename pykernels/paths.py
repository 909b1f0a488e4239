"""Where the data folders lie: inside the package in an install, beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

__all__ = ["CPP_DEFS", "OPS", "REGISTRY"]

_PACKAGE = Path(__file__).resolve().parent


def _folder(name: str) -> Path:
    installed = _PACKAGE / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


#: The op folders that ship with the library.
OPS = _folder("ops")
#: The C++ sources that enter ops into each framework.
REGISTRY = _folder("registry")
#: The headers that definitions are written against, and the C ABIs.
CPP_DEFS = _folder("cpp_defs")
