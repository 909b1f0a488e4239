"""What is compiled already in a package of ops: found by content, checked, and used in place of compilers.

A folder of op folders may hold a folder ``compiled``, which ``python -m pykernels build --wheel`` makes: the objects of
the ops, registrars of frameworks, and a manifest with a digest of each, of the files of the ops that their objects were
made of, and of what the registrars are made for (`frameworks.registrar_libraries` finds them).
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

__all__ = [
    "FOLDER",
    "MANIFEST",
    "ShippedRegistrar",
    "Store",
    "contents",
    "made_for",
    "offer",
    "store_of",
    "stores",
]

#: The folder beside the op folders, and the file in it that says what it holds.
FOLDER, MANIFEST = "compiled", "manifest.json"
#: What lets a program ignore these folders, to compile for the processor at hand.
_VARIABLE = "PYKERNELS_SHIPPED"
# What reading a manifest raises that is not there or not one.
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)
# The folders of op folders that ops have been loaded from, in order.
_collections: dict[Path, None] = {}
# Raised with every change of what manifests say, the facts of kernels included.
_FORMAT = 2


@dataclass(frozen=True)
class ShippedRegistrar:
    """A registrar in a ``compiled`` folder.

    Attributes
    ----------
    framework : str
        The package that it is for, such as ``oneflow``.
    path : Path
    digest : str
        Of its content.
    made_for : dict of str to str
        Versions, and whatever else has to be the same.
    """

    framework: str
    path: Path
    digest: str
    made_for: dict[str, str]

    def is_intact(self) -> bool:
        """Whether the file is as it was made."""
        return _is_intact(self.path, self.digest)


class Store:
    """The ``compiled`` folder of a collection.

    Parameters
    ----------
    folder : Path
        The folder.
    manifest : dict
        What its manifest says.

    Attributes
    ----------
    folder : Path
    pykernels : str
        The version that made it.
    registrars : tuple of ShippedRegistrar
    """

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.pykernels: str = manifest["pykernels"]
        self.registrars = tuple(
            ShippedRegistrar(each["framework"], folder / each["file"], each["digest"], dict(each["made_for"]))
            for each in manifest.get("registrars", ())
        )
        self._manifest = manifest

    @classmethod
    def read(cls, folder: Path) -> Store:
        """The store in a folder.

        Raises
        ------
        OSError, ValueError, KeyError, TypeError, AttributeError
            Its manifest cannot be read.
        """
        return cls(folder, json.loads((folder / MANIFEST).read_text(encoding="utf-8")))

    def find(self, op_folder: Path, parts: Sequence[str | bytes]) -> tuple[Path, dict[str, Any]] | None:
        """An object and its facts by what it was made of; None if there is none."""
        objects = self._manifest["ops"].get(op_folder.name, {}).get("objects", {})
        entry = objects.get(cache.digest(parts))
        return None if entry is None else (self.folder / entry["file"], entry["facts"])

    def problem(self, op_folder: Path) -> str:
        """Why the objects of an op cannot be used; empty if they can, or there are none."""
        known = self._manifest["ops"].get(op_folder.name)
        if known is None:
            return ""
        wanted, made = made_for(self._manifest["made_for"]["cpu"]), self._manifest["made_for"]
        for what in ("manifest format", "kernel ABI", "definition ABI"):
            if made.get(what) != wanted[what]:
                return (
                    f"they are made for {what} {made.get(what)} (of pykernels {self.pykernels}), and this is "
                    f"{wanted[what]} (of pykernels {__version__})"
                )
        if made["machine"] != wanted["machine"]:
            return f"they are made for machine {made['machine']}, and this is {wanted['machine']}"
        if machine.is_newer(made["libc"], wanted["libc"]):
            return f"they are made for {made['libc']}, and this is {wanted['libc']}"
        lacking = [flag for flag in made["flags"] if flag not in machine.processor_flags()]
        if lacking:
            return f"they are made for {made['cpu']}, and this processor has no {', '.join(lacking)}"
        found = contents(op_folder)
        changed = sorted(name for name in {*found, *known["files"]} if found.get(name) != known["files"].get(name))
        if changed:
            return f"{op_folder / changed[0]} is not the file that they were made of"
        for entry in known["objects"].values():
            file = self.folder / entry["file"]
            if not _is_intact(file, entry["digest"]):
                return f"{file} is damaged"
        return ""


def offer(collections: Iterable[Path]) -> None:
    """Let what came with these folders of op folders be found by `stores`."""
    _collections.update(dict.fromkeys(collections))


def stores() -> Iterator[Store]:
    """The stores beside the ops that have been loaded, whether or not the objects of these ops can be used."""
    for collection in () if os.environ.get(_VARIABLE) == "0" else tuple(_collections):
        with contextlib.suppress(*_UNREADABLE):  # which an op says that needs it
            yield Store.read(collection / FOLDER)


def store_of(op_folder: Path) -> Store | None:
    """The store beside an op folder whose objects of this op can be used; None if there is none.

    Raises
    ------
    PackageError
        There is one that cannot be used, and no compiler to make objects here.

    Warns
    -----
    PykernelsWarning
        There is one that cannot be used; what is needed is compiled here.
    """
    folder = op_folder.parent / FOLDER
    if os.environ.get(_VARIABLE) == "0" or not (folder / MANIFEST).is_file():
        return None
    return _checked(op_folder, tuple(_stamps(op_folder, folder)))


@functools.lru_cache(maxsize=1024)
def _checked(op_folder: Path, stamps: tuple[Any, ...]) -> Store | None:
    """The store, checked once for each state of the files."""
    folder = op_folder.parent / FOLDER
    store: Store | None = None
    try:
        store = Store.read(folder)
        problem = store.problem(op_folder)
    except _UNREADABLE as error:
        problem = f"{folder / MANIFEST} cannot be read: {type(error).__name__}: {error}"
    if not problem:
        return store
    said = f"op {op_folder.name!r}: the compiled objects in {folder} cannot be used: {problem}"
    try:
        toolchain.compiler()
    except BuildError as error:
        raise PackageError(
            f"{said}. There is no other way to run it, since {error}; or build the wheel again: "
            f"python -m pykernels build --wheel"
        ) from None
    warnings.warn(
        f"{said}. It is compiled here instead; to be rid of this, build the wheel again, or remove that folder",
        PykernelsWarning,
        stacklevel=2,
    )
    return None


def contents(op_folder: Path) -> dict[str, str]:
    """The digest of each file of an op folder that the op consists of."""
    files = sorted(p for p in op_folder.rglob("*") if p.suffix in {".py", ".cpp", ".h", ".hpp", ".inl"})
    return {str(p.relative_to(op_folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def made_for(cpu: str) -> dict[str, Any]:
    """What objects that are made here for a processor depend on."""
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
