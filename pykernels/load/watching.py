"""Watch op folders, and reload an op when its folder is edited."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from pykernels.base import locks
from pykernels.base.errors import PykernelsError
from pykernels.load.module import OpModule

__all__ = ["INTERVAL", "watch"]

#: How often folders are looked at, in seconds.
INTERVAL = 0.3

_lock = locks.Lock("watching folders")
# By name, the folder.
_watched: dict[str, Path] = {}
_thread: threading.Thread | None = None
# What folders were like when they were looked at last: an editor may still be writing what has just changed.
_seen: dict[str, object] = {}
# What cannot be loaded, and has been told of.
_failed: dict[str, object] = {}


def watch(
    modules: Mapping[str, OpModule], list_ops: Callable[[], Mapping[str, OpModule]], reload: Callable[[str], object]
) -> None:
    """Load these ops again whenever their folders change, as long as they are loaded; in this process alone."""
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
    """Load an op again if its folder has changed, and is what it was a moment ago."""
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
