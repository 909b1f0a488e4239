"""What is compiled already in a package of ops: found by content, checked, and used in place of compilers.

A folder of op folders may hold a folder ``compiled``, which ``python -m pykernels build --wheel`` makes: the objects,
and a manifest with a digest of each and of the files of the ops that they were made of.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pykernels import abi, cache, toolchain
from pykernels.errors import BuildError, PackageError, PykernelsWarning

__all__ = ["FOLDER", "MANIFEST", "Store", "contents", "made_for", "store_of"]

#: The folder beside the op folders, and the file in it that says what it holds.
FOLDER, MANIFEST = "compiled", "manifest.json"
#: What lets a program ignore these folders, to compile for the processor at hand.
_VARIABLE = "PYKERNELS_SHIPPED"
# What /proc/cpuinfo has to show for each level of the x86-64 psABI.
_FLAGS = {
    "x86-64": (),
    "x86-64-v2": ("sse4_2", "ssse3", "popcnt"),
    "x86-64-v3": ("avx2", "fma", "bmi2"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}


class Store:
    """The ``compiled`` folder of a collection.

    Parameters
    ----------
    folder : Path
        The folder.
    manifest : dict
        What its manifest says.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self._manifest = manifest

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
        for what in ("kernel ABI", "definition ABI", "machine"):
            if made.get(what) != wanted[what]:
                return f"they are made for {what} {made.get(what)}, and this is {wanted[what]}"
        if _version(made["libc"]) > _version(wanted["libc"]):
            return f"they are made for {made['libc']}, and this is {wanted['libc']}"
        lacking = [flag for flag in _FLAGS.get(made["cpu"], ()) if flag not in _processor_flags()]
        if lacking:
            return f"they are made for {made['cpu']}, and this processor has no {', '.join(lacking)}"
        found = contents(op_folder)
        changed = sorted(name for name in {*found, *known["files"]} if found.get(name) != known["files"].get(name))
        if changed:
            return f"{op_folder / changed[0]} is not the file that they were made of"
        for entry in known["objects"].values():
            file = self.folder / entry["file"]
            if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != entry["digest"]:
                return f"{file} is damaged"
        return ""


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
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        store = Store(folder, manifest)
        problem = store.problem(op_folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        store, problem = None, f"{folder / MANIFEST} cannot be read: {type(error).__name__}: {error}"
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
        "kernel ABI": abi.KERNEL_ABI,
        "definition ABI": abi.DEFINITION_ABI,
        "machine": platform.machine(),
        "libc": os.confstr("CS_GNU_LIBC_VERSION") or "",
        "cpu": cpu,
    }


def _version(libc: str) -> tuple[int, ...]:
    return tuple(int(part) for part in libc.rpartition(" ")[2].split(".") if part.isdigit())


def _stamps(*folders: Path) -> list[tuple[str, int, int]]:
    files = sorted(file for folder in folders for file in folder.rglob("*") if file.is_file())
    return [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.suffix != ".pyc"]


@functools.lru_cache(maxsize=1)
def _processor_flags() -> frozenset[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), ()))
