"""Find the installed frameworks and their versions without importing them."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from pykernels.base.frameworks import FRAMEWORKS


@dataclass(frozen=True)
class Installed:
    """An installed or missing framework."""

    #: Such as ``torch``.
    package: str
    #: Such as ``PyTorch``.
    title: str
    #: None if it is not installed.
    version: str | None
    #: A remark on this version, or on the missing framework.
    note: str = ""


def find_package(name: str) -> Path | None:
    """Return the folder of an installed package without importing it, which may take seconds."""
    spec = importlib.util.find_spec(name)
    # A mere folder of that name has no origin.
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def is_usable(package: str) -> bool:
    """Whether a framework is installed; ONNX Runtime also needs the package that makes models."""
    needed = [package, "onnx"] if package == "onnxruntime" else [package]
    return all(find_package(each) is not None for each in needed)


def find_installed(package: str) -> Installed:
    """Return what is known about a framework without importing it."""
    from importlib import metadata  # not above: it takes as long to import as half of pykernels

    known = FRAMEWORKS[package]
    if find_package(package) is None:
        return Installed(package, known.title, None, f"not installed: {known.install}")
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        return Installed(package, known.title, "of unknown version", "it has no metadata: install it with pip")
    note = "" if version.startswith(known.versions) else f"not tested with this version: {known.install}"
    return Installed(package, known.title, version, note)
