"""Locate the data folders: inside the package when installed, beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

#: The package's own folder.
PACKAGE = Path(__file__).resolve().parent.parent


def _folder(name: str) -> Path:
    installed = PACKAGE / name
    return installed if installed.is_dir() else PACKAGE.parent / name


def shown(path: Path) -> Path:
    """Return a path for users, relative to the current directory if it lies in that."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


#: The op folders that ship with pykernels.
OPS = _folder("ops")
#: The C++ sources of the registrars, which register ops in each framework.
REGISTRY = _folder("registry")
#: The headers that definitions include, and the C ABIs.
CPP_DEFS = _folder("cpp_defs")
