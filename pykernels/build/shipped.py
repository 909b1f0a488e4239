"""Find the compiled objects that a package of ops ships, verify them, and use them instead of compiling.

A folder of op folders may contain a folder ``compiled``, written by ``python -m pykernels build --wheel``: the ops'
objects, registrars of frameworks (which `frameworks.registrar_libraries` finds), and a manifest. The manifest has a
digest of each object and registrar, digests of the op files that the objects were built from, and what the registrars
were built for.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pykernels.base import abi
from pykernels.base.errors import BuildError, PackageError, PykernelsWarning
from pykernels.base.version import __version__
from pykernels.build import cache, machine, toolchain

#: The folder beside the op folders, and the file in it that lists its content.
FOLDER, MANIFEST = "compiled", "manifest.json"
#: The environment variable that, set to 0, makes a program ignore these folders and compile for its own processor.
_VARIABLE = "PYKERNELS_SHIPPED"
# The errors of reading a manifest that is missing or malformed.
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)
# The folders of op folders from which ops have been loaded, in order.
_collections: dict[Path, None] = {}
# Increased with every change of the manifest's format, which includes the facts of kernels.
_FORMAT = 4


@dataclass(frozen=True)
class ShippedRegistrar:
    """A registrar in a ``compiled`` folder."""

    #: The framework's package, such as ``oneflow``.
    framework: str
    path: Path
    #: The digest of the file's content.
    digest: str
    #: Versions, and everything else that must match.
    made_for: dict[str, str]

    def is_intact(self) -> bool:
        """Return whether the file is unchanged."""
        return _is_intact(self.path, self.digest)


class Store:
    """The ``compiled`` folder of a collection, with the content of its manifest."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        #: The version of pykernels that wrote it.
        self.pykernels: str = manifest["pykernels"]
        self.registrars = tuple(
            ShippedRegistrar(each["framework"], folder / each["file"], each["digest"], dict(each["made_for"]))
            for each in manifest.get("registrars", ())
        )
        self._manifest = manifest

    @classmethod
    def read(cls, folder: Path) -> Store:
        """Read the store in a folder; raise one of several errors (`_UNREADABLE`) if its manifest cannot be read."""
        return cls(folder, json.loads((folder / MANIFEST).read_text(encoding="utf-8")))

    def find(self, op_folder: Path, parts: Sequence[str | bytes]) -> tuple[Path, dict[str, Any]] | None:
        """Return the object built from `parts` and its facts, or None if there is none."""
        objects = self._manifest["ops"].get(op_folder.name, {}).get("objects", {})
        entry = objects.get(cache.digest(parts))
        return None if entry is None else (self.folder / entry["file"], entry["facts"])

    def specialize_on(self, op_folder: Path, parts: Sequence[str | bytes]) -> str | None:
        """Return the name of the number that kernels with these parts are specialized on; None if there is none."""
        names: dict[str, str] = self._manifest["ops"].get(op_folder.name, {}).get("specialize_on", {})
        return names.get(cache.digest(parts))

    def problem(self, op_folder: Path) -> str:
        """Return why the objects of an op cannot be used; empty if they can, or if there are none."""
        known = self._manifest["ops"].get(op_folder.name)
        if known is None:
            return ""
        wanted, made = made_for(self._manifest["made_for"]["cpu"]), self._manifest["made_for"]
        for what in ("manifest format", "kernel ABI", "definition ABI"):
            if made.get(what) != wanted[what]:
                return (
                    f"they were built for {what} {made.get(what)} (of pykernels {self.pykernels}), but this is "
                    f"{wanted[what]} (of pykernels {__version__})"
                )
        if made["machine"] != wanted["machine"]:
            return f"they were built for machine {made['machine']}, but this is {wanted['machine']}"
        if machine.is_newer(made["libc"], wanted["libc"]):
            return f"they were built for {made['libc']}, but this is {wanted['libc']}"
        missing = [flag for flag in made["flags"] if flag not in machine.processor_flags()]
        if missing:
            return f"they were built for {made['cpu']}, but this processor lacks {', '.join(missing)}"
        present = contents(op_folder)
        changed = sorted(name for name in {*present, *known["files"]} if present.get(name) != known["files"].get(name))
        if changed:
            return f"{op_folder / changed[0]} is not the file that they were built from"
        for entry in known["objects"].values():
            file = self.folder / entry["file"]
            if not _is_intact(file, entry["digest"]):
                return f"{file} is damaged"
        return ""


def offer(collections: Iterable[Path]) -> None:
    """Let `stores` find the stores of these collections."""
    _collections.update(dict.fromkeys(collections))


def stores() -> Iterator[Store]:
    """Yield the stores beside the loaded ops, whether or not their objects can be used."""
    for collection in () if os.environ.get(_VARIABLE) == "0" else tuple(_collections):
        with contextlib.suppress(*_UNREADABLE):  # `store_of` reports it when an op needs the store
            yield Store.read(collection / FOLDER)


def store_of(op_folder: Path) -> Store | None:
    """Return the store beside an op folder if the op can use its objects, otherwise None.

    If there is a store that cannot be used, this warns that the op is compiled on this machine, or raises
    `PackageError` if no compiler is installed.
    """
    folder = op_folder.parent / FOLDER
    if os.environ.get(_VARIABLE) == "0" or not (folder / MANIFEST).is_file():
        return None
    return _checked(op_folder, tuple(_stamps(op_folder, folder)))


@functools.lru_cache(maxsize=1024)
def _checked(op_folder: Path, stamps: tuple[Any, ...]) -> Store | None:
    """Return the store, checked once for each state of the files."""
    folder = op_folder.parent / FOLDER
    store: Store | None = None
    try:
        store = Store.read(folder)
        problem = store.problem(op_folder)
    except _UNREADABLE as error:
        problem = f"{folder / MANIFEST} cannot be read: {type(error).__name__}: {error}"
    if not problem:
        return store
    message = f"op {op_folder.name!r}: the compiled objects in {folder} cannot be used: {problem}"
    try:
        toolchain.compiler()
    except BuildError as error:
        raise PackageError(
            f"{message}. The op cannot be compiled either, since {error}. Or build the wheel again: "
            f"python -m pykernels build --wheel"
        ) from None
    warnings.warn(
        f"{message}. It is compiled on this machine instead; to avoid that, build the wheel again or remove the folder",
        PykernelsWarning,
        stacklevel=2,
    )
    return None


def contents(op_folder: Path) -> dict[str, str]:
    """Return the digest of each of the op's files in its folder."""
    files = sorted(p for p in op_folder.rglob("*") if p.suffix in {".py", ".cpp", ".h", ".hpp", ".inl"})
    return {str(p.relative_to(op_folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def made_for(cpu: str) -> dict[str, Any]:
    """Return what objects depend on that this machine compiles for the processor `cpu`."""
    return {
        "manifest format": _FORMAT,
        "kernel ABI": abi.KERNEL_ABI,
        "definition ABI": abi.DEFINITION_ABI,
        "machine": platform.machine(),
        "libc": machine.libc(),
        "cpu": cpu,
        "flags": machine.flags_needed(cpu),
    }


def _is_intact(file: Path, digest: str) -> bool:
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == digest


def _stamps(*folders: Path) -> list[tuple[str, int, int]]:
    files = sorted(file for folder in folders for file in folder.rglob("*") if file.is_file())
    return [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.suffix != ".pyc"]
