"""Watch op folders, and reload an op when its folder changes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from pykernels.base import locks
from pykernels.base.errors import PykernelsError
from pykernels.load.module import OpModule

#: How often to look at folders, in seconds.
INTERVAL = 0.3

_lock = locks.Lock("watching folders")
# Folders by the op's name.
_watched: dict[str, Path] = {}
_thread: threading.Thread | None = None
# The stamps of the previous look: a folder that has just changed may still be being written.
_seen: dict[str, object] = {}
# The stamps of folders that could not be loaded, which have been reported.
_failed: dict[str, object] = {}


def watch(
    modules: Mapping[str, OpModule], list_ops: Callable[[], Mapping[str, OpModule]], reload: Callable[[str], object]
) -> None:
    """Reload these ops whenever their folders change, while they are loaded and only in this process."""
    global _thread
    with _lock:
        _watched.update((name, module.path) for name, module in modules.items())
        if _watched and (_thread is None or not _thread.is_alive()):
            _thread = threading.Thread(target=_run, args=[list_ops, reload], name="pykernels watch", daemon=True)
            _thread.start()


def _run(list_ops: Callable[[], Mapping[str, OpModule]], reload: Callable[[str], object]) -> None:
    pause = threading.Event()
    while True:
        pause.wait(INTERVAL)
        with _lock:
            loaded = list_ops()
            for name, folder in list(_watched.items()):
                if name not in loaded or loaded[name].path != folder:
                    del _watched[name]
            if not _watched:
                return
            names = sorted(_watched)
        for name in names:
            _look(name, loaded, reload)


def _look(name: str, loaded: Mapping[str, OpModule], reload: Callable[[str], object]) -> None:
    """Reload an op if its folder has changed and is the same as at the previous look."""
    try:
        now = loaded[name].stamp()
    except (KeyError, OSError):
        return
    settled, _seen[name] = _seen.get(name) == now, now
    if not settled or _failed.get(name) == now:
        return
    try:
        reload(name)
    except PykernelsError as error:
        _failed[name] = now
        sys.stderr.write(f"pykernels: {error}; op {name!r} stays as it was\n")
