"""Where the data folders lie: inside the package in an install, beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

__all__ = ["CPP_DEFS", "OPS", "PACKAGE", "REGISTRY"]

#: The package's own folder.
PACKAGE = Path(__file__).resolve().parent.parent


def _folder(name: str) -> Path:
    installed = PACKAGE / name
    return installed if installed.is_dir() else PACKAGE.parent / name


#: The op folders that ship with the library.
OPS = _folder("ops")
#: The C++ sources that enter ops into each framework.
REGISTRY = _folder("registry")
#: The headers that definitions are written against, and the C ABIs.
CPP_DEFS = _folder("cpp_defs")
