"""The cache of built things: keyed by content, atomic, healing, honest about what it cannot do."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pykernels import cache
from pykernels.errors import CacheError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYKERNELS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write_text(text: str):
    def make(path: Path) -> dict[str, str]:
        path.write_text(text)
        return {"said": text}

    return make


def refuse(path: Path) -> dict[str, str]:
    raise AssertionError("built although it is in the cache")


def test_environment_variable_chooses_the_directory(home: Path) -> None:
    assert cache.directory() == home


def test_default_directory_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PYKERNELS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.directory() == tmp_path / "pykernels"


def test_an_entry_is_built_once(home: Path) -> None:
    first = cache.build("things", "key", "a.txt", write_text("one"))
    again = cache.build("things", "key", "a.txt", refuse)
    assert first.path == again.path
    assert again.path.read_text() == "one"
    assert again.facts == {"said": "one"}


@pytest.mark.parametrize("damage", ["truncate", "remove", "manifest", "garbage"])
def test_a_damaged_entry_is_built_again(home: Path, damage: str) -> None:
    entry = cache.build("things", "key", "a.txt", write_text("a long enough text"))
    if damage == "truncate":
        os.truncate(entry.path, 3)
    elif damage == "remove":
        entry.path.unlink()
    elif damage == "manifest":
        os.truncate(entry.path.parent / "manifest.json", 5)
    else:
        (entry.path.parent / "manifest.json").write_text(json.dumps([1]))
    healed = cache.build("things", "key", "a.txt", write_text("a long enough text"))
    assert healed.path.read_text() == "a long enough text"


def test_a_failing_build_leaves_nothing(home: Path) -> None:
    def fail(path: Path) -> dict[str, str]:
        path.write_text("half")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        cache.build("things", "key", "a.txt", fail)
    assert [p.name for p in (home / "things").iterdir() if not p.name.endswith(".lock")] == []
    assert cache.build("things", "key", "a.txt", write_text("whole")).path.read_text() == "whole"


def test_a_read_only_cache_says_what_to_do(home: Path) -> None:
    # Root may write anywhere, so a file stands where the directory should be: no one can write below it.
    home.write_text("not a directory")
    with pytest.raises(CacheError, match=r"cannot be written.*PYKERNELS_CACHE"):
        cache.build("things", "key", "a.txt", write_text("one"))


def test_a_full_disk_says_what_to_do(home: Path) -> None:
    def fill(path: Path) -> dict[str, str]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with pytest.raises(CacheError, match=r"No space left on device.*PYKERNELS_CACHE"):
        cache.build("things", "key", "a.txt", fill)


def test_what_is_there_is_read_without_writing(home: Path) -> None:
    cache.build("things", "key", "a.txt", write_text("one"))
    before = sorted(p.stat().st_mtime_ns for p in home.rglob("*"))
    cache.build("things", "key", "a.txt", refuse)
    assert sorted(p.stat().st_mtime_ns for p in home.rglob("*")) == before


def _build_slowly(key: str, home: str, result: multiprocessing.SimpleQueue[str]) -> None:
    os.environ["PYKERNELS_CACHE"] = home
    result.put(cache.build("things", key, "a.txt", write_text("same")).path.read_text())


def test_two_processes_at_once_both_succeed(home: Path) -> None:
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    workers = [context.Process(target=_build_slowly, args=("key", str(home), results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert [results.get(), results.get()] == ["same", "same"]


def test_a_lock_held_too_long_names_its_owner(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
        import sys, time
        from pykernels import cache
        def wait(path):
            print("building", flush=True)
            time.sleep(60)
        cache.build("things", "key", "a.txt", wait)
    """
    monkeypatch.setattr(cache, "LOCK_TIMEOUT", 0.2)
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE) as owner:
        try:
            assert owner.stdout is not None
            owner.stdout.readline()
            with pytest.raises(CacheError, match=f"process {owner.pid}"):
                cache.build("things", "key", "a.txt", refuse)
        finally:
            owner.kill()
    # The lock ends with its owner.
    assert cache.build("things", "key", "a.txt", write_text("mine")).path.read_text() == "mine"


def test_digest_tells_contents_orders_and_borders_apart(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text")
    assert cache.digest(["text"]) == cache.digest([tmp_path / "f"]) == cache.digest([b"text"])
    assert len({cache.digest(p) for p in (["ab"], ["a", "b"], ["b", "a"], ["", "ab"], [])}) == 5
