"""Built things on disk: keyed by everything they depend on, written atomically, checked when read.

An entry is a folder ``<kind>/<key>/`` with the artefact and ``manifest.json``, which holds the artefact's size and
digest. Whatever does not fit its manifest is built again, so a truncated or damaged entry heals itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import platformdirs

from pykernels.errors import CacheError

__all__ = ["Entry", "build", "digest", "directory"]

#: How long to wait for another process that builds the same entry, in seconds.
LOCK_TIMEOUT = 300.0


class Entry:
    """A built artefact: its `path`, and the `facts` that its builder wrote beside it."""

    def __init__(self, path: Path, facts: dict[str, Any]) -> None:
        self.path = path
        self.facts = facts

    def __repr__(self) -> str:
        return f"Entry({str(self.path)!r})"


def directory() -> Path:
    """The cache directory: ``$PYKERNELS_CACHE``, else ``pykernels`` in the user's cache directory."""
    chosen = os.environ.get("PYKERNELS_CACHE")
    return Path(chosen).absolute() if chosen else Path(platformdirs.user_cache_dir("pykernels"))


def digest(parts: Iterable[str | bytes | Path]) -> str:
    """A key for `parts`, in order; a `Path` stands for the content of the file."""
    total = hashlib.sha256()
    for part in parts:
        raw = part.read_bytes() if isinstance(part, Path) else part.encode() if isinstance(part, str) else part
        total.update(len(raw).to_bytes(8, "little"))
        total.update(raw)
    return total.hexdigest()[:32]


def build(kind: str, key: str, filename: str, make: Callable[[Path], dict[str, Any]]) -> Entry:
    """The entry for `key`, made by ``make(path)`` if there is none yet.

    Parameters
    ----------
    kind : str
        The sub-folder of the cache, such as ``definitions``.
    key : str
        A `digest` of everything that the artefact depends on.
    filename : str
        The artefact's file name.
    make : callable
        Writes the artefact to the path that it is given and returns facts to keep beside it (JSON).

    Raises
    ------
    CacheError
        The entry is not there and cannot be written: the directory is read-only, the disk is full, or another
        process has held the lock for too long.
    """
    home = directory() / kind / key
    entry = _read(home, filename)
    if entry is not None:
        return entry
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with _Lock(home.with_suffix(".lock")):
            return _read(home, filename) or _write(home, filename, make)
    except OSError as error:
        raise CacheError(
            f"the cache directory {directory()} cannot be written: {error.strerror or error} "
            f"({error.filename or home}). Make room or make it writable, or set PYKERNELS_CACHE to another directory"
        ) from error


def _read(home: Path, filename: str) -> Entry | None:
    path = home / filename
    try:
        manifest = json.loads((home / "manifest.json").read_text())
        intact = manifest["digest"] == hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Entry(path, manifest["facts"]) if intact else None


def _write(home: Path, filename: str, make: Callable[[Path], dict[str, Any]]) -> Entry:
    scratch = Path(tempfile.mkdtemp(prefix=f"{home.name}.", dir=home.parent))
    try:
        path = scratch / filename
        facts = make(path)
        manifest = {"digest": hashlib.sha256(path.read_bytes()).hexdigest(), "facts": facts}
        (scratch / "manifest.json").write_text(json.dumps(manifest))
        scratch.chmod(0o755)
        # Only a damaged entry can be in the way, since the lock is ours.
        shutil.rmtree(home, ignore_errors=True)
        scratch.rename(home)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return Entry(home / filename, facts)


class _Lock:
    """A lock between processes whose waiting is bounded, and whose owner is named when it is exceeded."""

    def __init__(self, path: Path) -> None:
        import filelock  # not above: its import tries out the file system

        self._lock = filelock.FileLock(path, timeout=LOCK_TIMEOUT)
        self._owner = path.with_suffix(".owner")

    def __enter__(self) -> None:
        try:
            self._lock.acquire()
        except TimeoutError:  # filelock.Timeout is one
            raise CacheError(
                f"another process has been building {self._owner.stem} for more than {LOCK_TIMEOUT:.0f} s: "
                f"{self._describe_owner()}. If it hangs, end it; the lock goes with it ({self._lock.lock_file})"
            ) from None
        self._owner.write_text(str(os.getpid()))

    def __exit__(self, *exc: object) -> None:
        self._owner.unlink(missing_ok=True)
        self._lock.release()

    def _describe_owner(self) -> str:
        try:
            return f"process {int(self._owner.read_text())}"
        except (OSError, ValueError):
            return "its process is not known"
