"""Finding and running the C++ compiler."""

from __future__ import annotations

import contextvars
import ctypes
import functools
import operator
from pathlib import Path

import pytest

from pykernels.base.errors import BuildError, CacheError, CompileFailed
from pykernels.build import toolchain


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYKERNELS_CACHE", str(tmp_path / "cache"))


def source(folder: Path, text: str, name: str = "answer.cpp") -> Path:
    path = folder / name
    path.write_text(text)
    return path


ANSWER = (
    '#include "answer.h"\nextern "C" __attribute__((visibility("default"))) int answer() {{ return ANSWER + {0}; }}\n'
)


def test_the_result_depends_on_source_header_and_flags(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    header = source(tmp_path / "include", "#define ANSWER 40\n", "answer.h")
    cpp = source(tmp_path, ANSWER.format(2))

    def answer(*flags: str) -> int:
        path = toolchain.build_shared("answer", [cpp], include=[tmp_path / "include"], flags=flags)
        return ctypes.CDLL(str(path)).answer()

    assert answer() == 42
    cpp.write_text(ANSWER.format(3))
    assert answer() == 43
    header.write_text("#ifndef ANSWER\n#define ANSWER 50\n#endif\n")
    assert answer() == 53
    assert answer("-DANSWER=7") == 10


def test_objects_are_linked_and_built_once(tmp_path: Path) -> None:
    question = source(tmp_path, "int question() { return 42; }\n", "question.cpp")
    both = """
        int question();
        extern "C" __attribute__((visibility("default"))) int answer() { return question(); }
    """
    built = []

    def build() -> Path:
        built.append(toolchain.build_object("question", question))
        return built[-1]

    for name in ("one", "two"):
        path = toolchain.build_shared(name, [source(tmp_path, both, f"{name}.cpp")], objects=[build])
        assert ctypes.CDLL(str(path)).answer() == 42
    assert built[0] == built[1]
    broken = source(tmp_path, "int question;\nint question;\n", "broken.cpp")
    with pytest.raises(CompileFailed, match="question does not compile"):
        toolchain.build_shared(
            "three", [source(tmp_path, both)], objects=[lambda: toolchain.build_object("question", broken)]
        )


def test_what_the_compiler_said_is_kept(tmp_path: Path) -> None:
    cpp = source(tmp_path, "int answer() { return question; }\n")
    with pytest.raises(CompileFailed, match="answer does not compile") as failed:
        toolchain.build_shared("answer", [cpp])
    assert "answer.cpp:1:" in failed.value.output
    assert "question" in failed.value.output


def test_what_is_built_needs_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cpp = source(tmp_path, "int answer() { return 42; }\n")
    built = toolchain.build_shared("answer", [cpp])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toolchain.build_shared("answer", [cpp]) == built
    with pytest.raises(BuildError, match=r"no C\+\+ compiler"):
        toolchain.build_shared("answer", [cpp], flags=["-O2"])


def test_a_full_disk_is_the_caches_to_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    full = source(tmp_path, "#!/bin/sh\necho 'ld: final link failed: No space left on device' >&2\nexit 1\n", "cxx")
    full.chmod(0o755)
    monkeypatch.setenv("CXX", str(full))
    monkeypatch.setattr(toolchain, "compiler", lambda: (str(full),))
    with pytest.raises(CacheError, match=r"cannot be written: No space left on device.*PYKERNELS_CACHE"):
        toolchain.build_shared("answer", [source(tmp_path, "int answer();\n")])


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(BuildError, match=r"no C\+\+ compiler is on the PATH.*apt install g\+\+.*CXX"):
        toolchain.compiler()


def test_a_wrong_cxx_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BuildError, match=r"\$CXX names 'no-such-compiler'"):
        toolchain.compiler()


def test_cxx_may_hold_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "g++ -DMORE")
    assert toolchain.compiler() == ("g++", "-DMORE")


def test_parallel_tasks_have_the_context_of_their_caller() -> None:
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(1)
    assert toolchain.in_parallel([variable.get] * 3) == [1] * 3


def test_parallel_tasks_all_end_before_an_error_is_raised() -> None:
    ended: list[object] = []
    division, append = functools.partial(operator.floordiv, 1, 0), functools.partial(ended.append, 1)
    with pytest.raises(ZeroDivisionError):
        toolchain.in_parallel([division, append, append])
    assert ended == [1, 1]


def test_tasks_beside_a_block_end_with_it_whatever_they_raise() -> None:
    ended: list[object] = []
    division, append = functools.partial(operator.floordiv, 1, 0), functools.partial(ended.append, 1)
    with pytest.raises(KeyError), toolchain.beside([division, append, append]):
        raise KeyError
    assert ended == [1, 1]
