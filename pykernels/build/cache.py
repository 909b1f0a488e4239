"""Cache built artefacts on disk: keyed by everything they depend on, written atomically, verified when read.

An entry is a folder ``<kind>/<key>/`` with the artefact and ``manifest.json``, which contains facts about the artefact
and a digest of the kind, the key, the facts and the artefact. An entry that does not match its digest is rebuilt.
Nothing is loaded from a directory that other users may write to.
"""

from __future__ import annotations

import contextlib
import contextvars
import fcntl
import hashlib
import json
import os
import stat
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pykernels.base.errors import CacheError, PykernelsWarning

#: How long to wait for another process that builds the same entry, in seconds.
LOCK_TIMEOUT = 300.0
#: How long `clear` keeps the files of removed entries for processes that have already found them, in seconds.
GRACE = 1.0

_MANIFEST = "manifest.json"
# How often to look whether another process has ended, in seconds.
_INTERVAL = 0.05
# The kinds of the entries that are built in a `recorded` block.
_record: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar("_record", default=None)


@dataclass(frozen=True)
class Entry:
    """A built artefact: its `path`, and the `facts` that its builder stored beside it."""

    path: Path
    facts: dict[str, Any]


def directory() -> Path:
    """Return the cache directory: ``$PYKERNELS_CACHE``, else ``pykernels`` in the user's cache directory.

    This raises `CacheError` if the user has no home directory.
    """
    chosen = os.environ.get("PYKERNELS_CACHE")
    if chosen:
        return Path(chosen).absolute()
    import platformdirs  # imported here: it takes a tenth of a warm start

    try:
        return Path(platformdirs.user_cache_dir("pykernels"))
    except RuntimeError as error:
        raise CacheError(f"no cache directory was found: {error}; or set PYKERNELS_CACHE to a directory") from error


def digest(parts: Iterable[str | bytes | Path]) -> str:
    """Return a key for `parts`, in order; a `Path` stands for the content of its file."""
    total = hashlib.sha256()
    for part in parts:
        raw = part.read_bytes() if isinstance(part, Path) else part.encode() if isinstance(part, str) else part
        total.update(len(raw).to_bytes(8, "little"))
        total.update(raw)
    return total.hexdigest()[:32]


def build(kind: str, key: str, filename: str, make: Callable[[Path], dict[str, Any]]) -> Entry:
    """Return the entry for `key`; build it with ``make(path)`` if there is none yet.

    Parameters
    ----------
    kind : str
        The sub-folder of the cache, such as ``definitions``.
    key : str
        A `digest` of everything that the artefact depends on.
    filename : str
        The artefact's file name.
    make : callable
        Writes the artefact to the given path and returns facts to store beside it (JSON).

    Raises
    ------
    CacheError
        Other users may write to the directory. Or the entry does not exist and cannot be written: the directory is
        read-only, the disk is full, or another process has held the lock for too long.

    Warns
    -----
    PykernelsWarning
        The entry was damaged and is rebuilt.
    """
    _check_owner(directory())
    home = directory() / kind / key
    entry = _read(home, filename)
    if entry is not None:
        return entry
    try:
        for folder in (directory(), home.parent):
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        with _Lock(home, LOCK_TIMEOUT):
            entry = _read(home, filename)
            if entry is None:
                if (home / _MANIFEST).exists():
                    warnings.warn(f"{home} was damaged and is rebuilt", PykernelsWarning, stacklevel=3)
                entry = _write(home, filename, make)
                built = _record.get()
                if built is not None:
                    built.append(kind)
            return entry
    except OSError as error:
        raise _not_writable(error, home) from error


@contextlib.contextmanager
def recorded() -> Iterator[list[str]]:
    """Yield a list to which each entry that the block builds in this thread adds its kind."""
    built: list[str] = []
    token = _record.set(built)
    try:
        yield built
    finally:
        _record.reset(token)


@dataclass(frozen=True)
class Usage:
    """The number of entries of a kind, and their size in bytes."""

    entries: int
    size: int


def usage() -> dict[str, Usage]:
    """Return the usage of the cache by kind."""
    return {kind.name: _measure(kind) for kind in _kinds()}


def clear() -> tuple[int, int]:
    """Remove every entry that no process is building, even while other processes use the cache.

    What other processes have loaded stays loaded, and what they need next is rebuilt. An entry first loses its
    manifest, so that no process finds it any more. Its files follow after `GRACE`, when processes that found it before
    have loaded it. Lock files stay: a lock file that is removed while a process waits for it locks nothing.

    Returns
    -------
    removed, kept : int
        The number of removed entries, and of those kept because a process is building them.

    Raises
    ------
    CacheError
        The cache cannot be written.
    """
    keys = {kind / path.name.partition(".")[0] for kind in _kinds() for path in kind.iterdir()}
    kept, doomed = 0, []
    try:
        for home in sorted(keys):
            try:
                with _Lock(home, 0):
                    if home.is_dir():
                        (home / _MANIFEST).unlink(missing_ok=True)
                        doomed.append(home)
                    _remove_remains(home)
            except CacheError:
                kept += 1
        time.sleep(GRACE if doomed else 0)
        for home in doomed:
            with contextlib.suppress(CacheError), _Lock(home, 0):
                if not (home / _MANIFEST).exists():  # else it has been built again
                    _remove(home, ignore_errors=False)
    except OSError as error:
        raise _not_writable(error, directory()) from error
    return len(doomed), kept


def _kinds() -> list[Path]:
    home = directory()
    return sorted(path for path in home.iterdir() if path.is_dir()) if home.is_dir() else []


def _measure(kind: Path) -> Usage:
    """Measure a kind's folder, which other processes may be changing."""
    entries, size = 0, 0
    for folder, _, files in os.walk(kind):
        # A dot in a folder's name means that it is being written.
        entries += _MANIFEST in files and "." not in Path(folder).name
        for name in files:
            with contextlib.suppress(FileNotFoundError):
                size += os.stat(os.path.join(folder, name)).st_size
    return Usage(entries, size)


def _not_writable(error: OSError, path: Path) -> CacheError:
    return CacheError(
        f"the cache directory {directory()} cannot be written: {error.strerror or error} "
        f"({error.filename or path}). Free some space or make it writable, or set PYKERNELS_CACHE to another directory"
    )


def _check_owner(path: Path) -> None:
    """Refuse a cache directory in which another user may have placed code that this process would load."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return  # it is created so that only its owner may write to it
    except OSError as error:
        raise _not_writable(error, path) from error
    by_group = status.st_mode & stat.S_IWGRP and status.st_gid != os.getegid()
    if status.st_mode & stat.S_IWOTH or by_group:
        reason, cure = "other users may write to it", f"Remove that permission (chmod go-w {path})"
    elif status.st_uid not in (os.geteuid(), 0) and not os.environ.get("PYKERNELS_CACHE"):
        reason, cure = f"it belongs to user {status.st_uid}", f"Set PYKERNELS_CACHE to {path} if you trust that user"
    else:
        return
    raise CacheError(
        f"pykernels loads nothing from the cache directory {path}, since {reason}. {cure}, or set PYKERNELS_CACHE to "
        "another directory"
    )


def _read(home: Path, filename: str) -> Entry | None:
    path = home / filename
    try:
        manifest = json.loads((home / _MANIFEST).read_text())
        intact = manifest["digest"] == _seal(home, manifest["facts"], path)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Entry(path, manifest["facts"]) if intact else None


def _seal(home: Path, facts: dict[str, Any], path: Path) -> str:
    """Return the digest that shows that an entry is intact and belongs to its key."""
    return digest([home.parent.name, home.name, json.dumps(facts, sort_keys=True), path])


def _write(home: Path, filename: str, make: Callable[[Path], dict[str, Any]]) -> Entry:
    import tempfile  # imported here, like shutil: only writing needs them

    _remove_remains(home)
    scratch = Path(tempfile.mkdtemp(prefix=f"{home.name}.", dir=home.parent))
    try:
        path = scratch / filename
        facts = make(path)
        manifest = {"digest": _seal(home, facts, path), "facts": facts}
        (scratch / _MANIFEST).write_text(json.dumps(manifest))
        scratch.chmod(0o755)
        # We hold the lock, so only a damaged entry can be in the way.
        _remove(home)
        scratch.rename(home)
    finally:
        _remove(scratch)
    return Entry(home / filename, facts)


def _remove(folder: Path, *, ignore_errors: bool = True) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=ignore_errors)


def _remove_remains(home: Path) -> None:
    """Remove what killed processes have left of an entry; the caller must hold its lock."""
    for scratch in home.parent.glob(f"{home.name}.*"):
        if scratch.is_dir():
            _remove(scratch)


class _Lock:
    """The lock of an entry between processes; a wait that takes too long raises an error that names the owner."""

    def __init__(self, home: Path, timeout: float) -> None:
        self._timeout = timeout
        self._path = home.with_suffix(".lock")
        self._descriptor = -1
        self._owner = home.with_suffix(".owner")

    def __enter__(self) -> None:
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        end = time.monotonic() + self._timeout
        while not self._is_taken():
            if time.monotonic() >= end:
                os.close(self._descriptor)
                raise CacheError(
                    f"another process has been building {self._owner.stem} for more than {self._timeout:.0f} s: "
                    f"{self._describe_owner()}. If it hangs, end it; that releases the lock ({self._path})"
                )
            time.sleep(_INTERVAL)
        self._owner.write_text(str(os.getpid()))

    def __exit__(self, *exc: object) -> None:
        self._owner.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _is_taken(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def _describe_owner(self) -> str:
        try:
            return f"process {int(self._owner.read_text())}"
        except (OSError, ValueError):
            return "its process is unknown"
