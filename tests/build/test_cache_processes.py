"""The cache under real ops: processes that build at once, that are killed, or that may not write; threads at once."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from process import CHECKOUT, finish

RUN_RELU = """
    import numpy as np
    import pykernels
    from pykernels.base import paths

    pykernels.load_ops(paths.OPS / "relu")
    relu = pykernels.list_ops()["relu"].api.relu
    assert relu(np.array([-1, 2], np.float32)).tolist() == [0, 2]
"""


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "cache"
    for path in (tmp_path, *tmp_path.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)


def start(text: str, cache: Path, **keywords: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)],
        cwd=cache.parent,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "PYKERNELS_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **keywords,
    )


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = finish(process)
    return process.returncode, out, err


def entries(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.glob("*/*") if path.is_dir())


@pytest.mark.thorough
def test_two_processes_that_build_an_op_at_once_both_succeed(cache: Path) -> None:
    processes = [start(RUN_RELU, cache) for _ in range(2)]
    assert [end(process) for process in processes] == [(0, "", "")] * 2
    assert [name.split("-")[0] for name in entries(cache) if "_cpp_def" in name] == ["relu_cpp_def"]
    assert len(list((cache / "kernels").glob("*/kernel.so"))) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["definitions", "kernels"])
def test_a_process_killed_while_it_builds_leaves_a_cache_that_works(cache: Path, kind: str) -> None:
    process = start(RUN_RELU, cache)
    try:
        while not (remains := [path for path in (cache / kind).glob("*.*") if path.is_dir()]):
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.005)
    finally:
        process.kill()
    assert end(process)[0] == -signal.SIGKILL
    assert any(path.exists() for path in remains)
    assert end(start(RUN_RELU, cache)) == (0, "", "")
    assert [name for name in entries(cache) if "." in name] == []


def may_not_override() -> None:
    """From the next program on, the permissions of files hold for root as well."""
    drop_from_bounding_set, override_permissions = 24, 1
    ctypes.CDLL(None).prctl(drop_from_bounding_set, override_permissions, 0, 0, 0)


@pytest.mark.thorough
def test_a_cache_that_is_read_only_serves_what_it_has(cache: Path) -> None:
    assert end(start(RUN_RELU, cache)) == (0, "", "")
    for path in (cache, *cache.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = sorted(cache.rglob("*"))
    assert end(start(RUN_RELU, cache, preexec_fn=may_not_override)) == (0, "", "")
    code, _, message = end(start(RUN_RELU.replace("float32", "float64"), cache, preexec_fn=may_not_override))
    assert code == 1
    assert f"CacheError: the cache directory {cache} cannot be written: Permission denied" in message
    assert "set PYKERNELS_CACHE to another directory" in message
    assert sorted(cache.rglob("*")) == before


@pytest.mark.thorough
def test_what_is_built_can_be_read_by_others(cache: Path) -> None:
    assert end(start(RUN_RELU, cache, umask=0o022)) == (0, "", "")
    for path in (cache, *cache.rglob("*")):
        wanted = 0o755 if path.is_dir() else 0o444
        assert path.stat().st_mode & wanted == wanted, path


@pytest.mark.thorough
def test_threads_that_call_a_kernel_for_the_first_time_at_once_compile_it_once(cache: Path) -> None:
    program = """
        import sys, threading
        import numpy as np
        import pykernels
        from pykernels.base import paths

        pykernels.load_ops(paths.OPS / "relu")
        module = pykernels.list_ops()["relu"]
        module.kernel_ids  # the definition is built
        commands, results = [], []
        sys.addaudithook(lambda event, args: commands.append(args[1]) if event == "subprocess.Popen" else None)
        barrier = threading.Barrier(8)

        def call():
            barrier.wait()
            results.append(module.api.relu(np.array([-1, 2], np.float32)).tolist())

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [[0, 2]] * 8, results
        linked = [command for command in commands if "-shared" in command]
        of_kernels = [command for command in linked if not any(word.endswith("numpy.cpp") for word in command)]
        assert len(of_kernels) == 1, linked
        assert len(linked) - len(of_kernels) <= 1, linked  # the registrar for NumPy
    """
    assert end(start(program, cache)) == (0, "", "")
    assert len(list((cache / "kernels").glob("*/kernel.so"))) == 1
