"""The cache of built things: keyed by content, atomic, healing, honest about what it cannot do."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import pwd
import random
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from quick import thorough

from pykernels.base.errors import CacheError
from pykernels.build import cache


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


def test_a_user_without_a_home_is_asked_to_choose_a_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PYKERNELS_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: {}[uid])  # as of a number that no user has
    with pytest.raises(CacheError, match=r"no cache directory was found: .*HOME.*; or set PYKERNELS_CACHE"):
        cache.directory()


def test_an_entry_is_built_once(home: Path) -> None:
    first = cache.build("things", "key", "a.txt", write_text("one"))
    again = cache.build("things", "key", "a.txt", refuse)
    assert first.path == again.path
    assert again.path.read_text() == "one"
    assert again.facts == {"said": "one"}


def _damage(chosen: random.Random, entries: list[Path]) -> None:
    """Change what lies in a cache as no program does."""
    home, other = chosen.sample(entries, 2)
    path = chosen.choice([home / "a.txt", home / "manifest.json"])
    content = bytearray(path.read_bytes())
    kind = chosen.choice(("flip", "cut", "grow", "garbage", "swap", "facts", "mix", "remove"))
    if kind == "flip":
        content[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
    elif kind == "cut":
        del content[chosen.randrange(len(content)) :]
    elif kind == "grow":
        content += b"x"
    elif kind == "garbage":
        content = bytearray(chosen.choice((b"", b"[1]", b"{}", b'{"digest": 1, "facts": 2}', b"\xff\xfe")))
    elif kind == "facts":
        path, manifest = home / "manifest.json", json.loads((home / "manifest.json").read_text())
        manifest["facts"] = chosen.choice(({}, None, [], {"said": "another"}))
        content = bytearray(json.dumps(manifest).encode())
    elif kind == "mix":
        content = bytearray((other / path.name).read_bytes())
    elif kind == "swap":
        aside = home.with_name("aside")
        home.rename(aside), other.rename(home), aside.rename(other)
        return
    path.unlink()
    if kind != "remove":
        path.write_bytes(content)


@pytest.mark.parametrize("count", [50, *thorough(1000)])
def test_what_is_damaged_is_built_again_with_one_warning(home: Path, count: int) -> None:
    chosen, names = random.Random(0), ("one", "two", "three")
    texts = {name: f"a long enough text: {name}" for name in names}
    for name in names:
        cache.build("things", name, "a.txt", write_text(texts[name]))
    warned = 0
    for _ in range(count):
        _damage(chosen, [home / "things" / name for name in names])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for name in names:
                entry = cache.build("things", name, "a.txt", write_text(texts[name]))
                assert (entry.path.read_text(), entry.facts) == (texts[name], {"said": texts[name]})
        assert all("was damaged and is rebuilt" in str(each.message) for each in caught)
        # Two where entries have changed places; none where nothing of an entry is left.
        assert len(caught) <= 2
        warned += len(caught)
        for name in names:
            cache.build("things", name, "a.txt", refuse)
    assert warned > 0.9 * count


@pytest.mark.parametrize(("mode", "wrong"), [(0o777, "other users may write to it"), (0o1777, "other users may write")])
def test_nothing_is_loaded_from_where_others_may_write(home: Path, mode: int, wrong: str) -> None:
    home.mkdir()
    home.chmod(mode)
    with pytest.raises(CacheError, match=f"{wrong}.*chmod go-w.*PYKERNELS_CACHE"):
        cache.build("things", "key", "a.txt", write_text("one"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_nothing_is_loaded_unasked_from_what_belongs_to_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "pykernels"
    folder.mkdir()
    os.chown(folder, 12345, -1)
    monkeypatch.delenv("PYKERNELS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(CacheError, match=r"it belongs to user 12345. Set PYKERNELS_CACHE to .* if you trust that user"):
        cache.build("things", "key", "a.txt", write_text("one"))
    monkeypatch.setenv("PYKERNELS_CACHE", str(folder))
    assert cache.build("things", "key", "a.txt", write_text("one")).path.read_text() == "one"


def test_its_owner_alone_can_write_to_a_new_directory(home: Path) -> None:
    before = os.umask(0)
    try:
        cache.build("things", "key", "a.txt", write_text("one"))
    finally:
        os.umask(before)
    assert {each.stat().st_mode & 0o022 for each in (home, home / "things", home / "things" / "key")} == {0}


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
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert [results.get(), results.get()] == ["same", "same"]


@contextmanager
def building_elsewhere(key: str) -> Iterator[subprocess.Popen[str]]:
    """A process that builds an entry, with half of it written, until it is killed or reads a line."""
    program = f"""
        import sys
        from pykernels.build import cache
        def make(path):
            path.write_text("half")
            print("building", flush=True)
            sys.stdin.readline()
            path.write_text("whole")
            return {{}}
        cache.build("things", {key!r}, "a.txt", make)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "building\n"
            yield process
        finally:
            process.kill()


def test_a_lock_held_too_long_names_its_owner(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LOCK_TIMEOUT", 0.2)
    with building_elsewhere("key") as owner, pytest.raises(CacheError, match=f"process {owner.pid}"):
        cache.build("things", "key", "a.txt", refuse)
    # The lock ends with its owner.
    assert cache.build("things", "key", "a.txt", write_text("mine")).path.read_text() == "mine"


def folders(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "things").iterdir() if path.is_dir())


def test_a_build_that_was_killed_leaves_a_cache_that_works(home: Path) -> None:
    with building_elsewhere("key") as process:
        process.kill()
    (remains,) = folders(home)
    assert remains.startswith("key.")
    assert cache.usage() == {"things": cache.Usage(0, len("half") + len(str(process.pid)))}
    assert cache.build("things", "key", "a.txt", write_text("whole")).path.read_text() == "whole"
    assert folders(home) == ["key"]


def test_usage_counts_entries_by_kind(home: Path) -> None:
    assert cache.usage() == {}
    for kind, key in (("things", "a"), ("things", "b"), ("others", "c")):
        cache.build(kind, key, "a.txt", write_text("x" * 1000))
    used = cache.usage()
    assert {kind: u.entries for kind, u in used.items()} == {"others": 1, "things": 2}
    for kind, u in used.items():
        assert u.size == sum(path.stat().st_size for path in (home / kind).rglob("*") if path.is_file()) > 1000


def test_what_is_built_is_recorded_and_what_is_there_is_not(home: Path) -> None:
    with cache.recorded() as first:
        cache.build("things", "a", "a.txt", write_text("a"))
        cache.build("others", "b", "b.txt", write_text("b"))
    with cache.recorded() as second:
        cache.build("things", "a", "a.txt", refuse)
    assert (first, second) == (["things", "others"], [])


def test_clear_removes_entries_and_remains(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "GRACE", 0)
    cache.build("things", "a", "a.txt", write_text("a"))
    cache.build("others", "b", "b.txt", write_text("b"))
    with building_elsewhere("key") as process:
        process.kill()
    assert cache.clear() == (2, 0)
    assert [path for path in home.glob("*/*") if path.suffix not in (".lock", ".owner")] == []
    assert cache.build("things", "a", "a.txt", write_text("again")).path.read_text() == "again"
    assert cache.clear() == (1, 0)


def test_clear_of_nothing(home: Path) -> None:
    assert cache.clear() == (0, 0)


def test_clear_does_not_disturb_who_builds(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "GRACE", 0)
    cache.build("things", "a", "a.txt", write_text("a"))
    with building_elsewhere("key") as process:
        assert cache.clear() == (1, 1)
        process.communicate("go on\n")
    assert process.returncode == 0
    assert cache.build("things", "key", "a.txt", refuse).path.read_text() == "whole"


def test_clear_leaves_time_to_load_what_has_been_found(home: Path) -> None:
    entry = cache.build("things", "a", "a.txt", write_text("found"))
    clearing = threading.Thread(target=cache.clear)
    clearing.start()
    while (entry.path.parent / "manifest.json").exists():
        time.sleep(0.01)
    assert entry.path.read_text() == "found"
    assert cache.build("things", "a", "a.txt", write_text("again")).path.read_text() == "again"
    clearing.join()
    # What has been built in between is not what was to be removed.
    assert cache.build("things", "a", "a.txt", refuse).path.read_text() == "again"


@pytest.mark.thorough
def test_others_build_and_read_while_the_cache_is_cleared(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "GRACE", 2)
    program = """
        import time
        from pykernels.build import cache
        def make(path):
            path.write_text("same")
            return {}
        end = time.monotonic() + 7
        while time.monotonic() < end:
            for key in "abcdefgh":
                assert cache.build("things", key, "a.txt", make).path.read_text() == "same"
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    workers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    removed = 0
    while any(worker.poll() is None for worker in workers):
        removed += cache.clear()[0]
    assert [(worker.returncode, worker.communicate()[1]) for worker in workers] == [(0, "")] * 2
    assert removed > 8


def test_digest_distinguishes_contents_orders_and_borders(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text")
    assert cache.digest(["text"]) == cache.digest([tmp_path / "f"]) == cache.digest([b"text"])
    assert len({cache.digest(p) for p in (["ab"], ["a", "b"], ["b", "a"], ["", "ab"], [])}) == 5
