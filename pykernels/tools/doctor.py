"""Try what ops need of a machine, and name the command that fixes what does not work."""

from __future__ import annotations

import contextlib
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pykernels.base import paths
from pykernels.base.errors import PykernelsError
from pykernels.build import cache, toolchain
from pykernels.load.folders import find

__all__ = ["ABSENT", "FAILS", "NOTE", "WORKS", "Finding", "examine"]

#: It works; it works, with something to know; it is not there, and need not be; it does not work.
WORKS, NOTE, ABSENT, FAILS = "works", "note", "absent", "fails"

# Below this, in bytes, a build may not fit.
_LITTLE_ROOM = 500 << 20
_PYTHONS = ("python3.10", "python3.11")
_DEFINITION = paths.OPS / "relu" / "relu_cpp_def.cpp"


@dataclass(frozen=True)
class Finding:
    """What one trial has found.

    Attributes
    ----------
    what : str
        What was tried.
    state : str
        `WORKS`, `NOTE`, `ABSENT` or `FAILS`.
    found : str
        Versions, or what is wrong.
    cure : str
        What to do; empty if nothing need be done.
    """

    what: str
    state: str
    found: str
    cure: str = ""


def examine() -> Iterator[Finding]:
    """Try everything, the frameworks last and all at once."""
    is_sound = True
    for trial in (_python, _interpreters, _numba, _compiler, _binutils, _vector_math, _cache, _ops):
        for finding in trial():
            is_sound = is_sound and (finding.state != FAILS or trial is _ops)
            yield finding
    yield from _frameworks(is_sound)


def _python() -> Iterator[Finding]:
    found = f"{platform.python_version()} at {sys.executable}"
    known = (3, 10) <= sys.version_info[:2] <= (3, 13)
    yield Finding("Python", WORKS if known else NOTE, found, "" if known else "ops are tested on Python 3.10 to 3.13")


def _interpreters() -> Iterator[Finding]:
    """The others that the frameworks need: 3.10 for MXNet and OneFlow, 3.11 for a current PyTorch."""
    for name in _PYTHONS:
        if name == f"python{sys.version_info[0]}.{sys.version_info[1]}":
            continue
        # Run, not looked up: a pyenv shim is there even when the interpreter behind it is not.
        works = False
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            works = subprocess.run([name, "-c", "import venv"], capture_output=True, timeout=30).returncode == 0
        state = WORKS if works else ABSENT
        why = "MXNet and OneFlow run on it" if name == "python3.10" else "a current PyTorch runs on it"
        yield Finding(name, state, shutil.which(name) or "" if works else "not found", "" if works else f"{why}")


def _numba() -> Iterator[Finding]:
    from importlib import metadata

    for package in ("numba", "llvmlite", "scipy"):
        done = subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["it cannot be imported"])[-1]
            cure = f"{sys.executable} -m pip install --force-reinstall {package}"
            yield Finding(package, FAILS, said, cure)
        else:
            yield Finding(package, WORKS, metadata.version(package))


def _compiler() -> Iterator[Finding]:
    try:
        command = toolchain.compiler().command
        said = toolchain.run([*command, "--version"], what="the compiler").splitlines()[0]
        with tempfile.TemporaryDirectory() as folder:
            include = paths.CPP_DEFS / "include"
            flags = ["-std=c++17", "-fPIC", "-shared", f"-I{include}"]
            output = str(Path(folder, "definition.so"))
            toolchain.run([*command, *flags, str(_DEFINITION), "-o", output], what="a definition")
    except PykernelsError as error:
        cure = "apt install g++ (Debian, Ubuntu), or set CXX to a compiler of C++17"
        yield Finding("C++ compiler", FAILS, str(error).splitlines()[0], cure)
    else:
        yield Finding("C++ compiler", WORKS, f"{' '.join(command)}: {said}")


def _binutils() -> Iterator[Finding]:
    found = shutil.which("objcopy")
    yield Finding(
        "objcopy",
        WORKS if found else ABSENT,
        found or "not found",
        "" if found else "apt install binutils (Debian, Ubuntu), for python -m pykernels build",
    )


def _vector_math() -> Iterator[Finding]:
    from pykernels.kernel.emit import vector_math

    found = vector_math.identity()
    if found.startswith("libmvec"):
        yield Finding("vector math", WORKS, found)
    else:
        cure = "functions such as sin are computed one by one; the GNU C library for x86-64 has those for vectors"
        yield Finding("vector math", NOTE, found, cure)


def _cache() -> Iterator[Finding]:
    directory = cache.directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=directory):
            pass
    except OSError as error:
        cure = "export PYKERNELS_CACHE=DIRECTORY, with one that can be written"
        yield Finding("cache", FAILS, f"{directory}: {error.strerror}", cure)
        return
    free = shutil.disk_usage(directory).free
    taken = sum(used.size for used in cache.usage().values())
    found = f"{directory}: {taken >> 20} MiB, {free >> 20} MiB free"
    little = free < _LITTLE_ROOM
    yield Finding("cache", NOTE if little else WORKS, found, "python -m pykernels cache --clear" if little else "")


def _ops() -> Iterator[Finding]:
    """The op folders of the default places: there, complete, and of different names."""
    from pykernels.load.module import OpModule

    owners: dict[str, Path] = {}
    wrong = []
    try:
        for folder in find():
            if folder.name in owners:
                wrong.append(f"{owners[folder.name]} and {folder} have one name")
            owners.setdefault(folder.name, folder)
            try:
                OpModule(folder.name, folder).py_api().cpp_def().py_kernel().check_files()
            except PykernelsError as error:
                wrong.append(str(error))
    except PykernelsError as error:
        wrong.append(str(error))
    for text in wrong:
        yield Finding("ops", FAILS, text, "python -m pykernels list")
    if not wrong:
        yield Finding("ops", WORKS, f"{len(owners)} found")


def _frameworks(is_sound: bool) -> Iterator[Finding]:
    """Each framework, with an op run in it; what it needs is mended first unless it `is_sound`."""
    from pykernels.base.frameworks import FRAMEWORKS
    from pykernels.frameworks.installed import find_installed
    from pykernels.tools.trial import try_op

    found = [find_installed(package) for package in FRAMEWORKS]
    with ThreadPoolExecutor() as pool:
        tried = [pool.submit(try_op, each.package, paths.OPS / "relu") if each.version else None for each in found]
        for each, trial in zip(found, tried):
            if trial is None:
                said, _, cure = each.note.partition(": ")
                yield Finding(each.title, ABSENT, said, cure)
                continue
            outcome, cure = trial.result(), FRAMEWORKS[each.package].install
            if outcome.error:
                cure = (_cure_of(each.package, outcome.error) or cure) if is_sound else "mend what fails above first"
                yield Finding(each.title, FAILS, f"{each.version}: {outcome.error}", cure)
            else:
                notes = [*filter(None, [each.note]), *outcome.warnings]
                found_ = "; ".join([f"{each.version}, and an op runs in it", *notes])
                yield Finding(each.title, NOTE if notes else WORKS, found_)


def _cure_of(package: str, error: str) -> str:
    """What mends an error that is known."""
    if package in ("mxnet", "oneflow") and np.lib.NumpyVersion(np.__version__) >= "1.24.0":
        return f"{sys.executable} -m pip install numpy==1.23.5"
    if "No module named 'onnx'" in error:
        return f"{sys.executable} -m pip install 'pykernels[onnx]'"
    return ""
