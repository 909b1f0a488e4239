"""Implement ``python -m pykernels doctor``."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.base import paths
from pykernels.base.errors import PykernelsError
from pykernels.base.frameworks import FRAMEWORKS
from pykernels.build import cache, linking, toolchain
from pykernels.kernel.emit import vector_math
from pykernels.kernel.numba import hooks
from pykernels.load.folders import find
from pykernels.load.module import open_folder

#: The trial succeeds; it succeeds, with a note; it finds nothing, which is no error; it fails.
WORKS, NOTE, ABSENT, FAILS = "works", "note", "absent", "fails"

# With less free space, in bytes, a build may fail.
_LITTLE_ROOM = 500 << 20
_PYTHONS = {"python3.10": "OneFlow runs on it", "python3.11": "a current PyTorch runs on it"}
_DEFINITION = paths.OPS / "relu" / "relu_cpp_def.cpp"


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("doctor", help="try what ops need on this machine", description=_run.__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Try the interpreter, the compilers, the cache and the frameworks, and say how to repair what fails."""
    from rich.console import Console
    from rich.text import Text

    styles = {WORKS: "green", NOTE: "yellow", ABSENT: "dim", FAILS: "bold red"}
    console = Console(soft_wrap=True)
    findings = []
    for finding in _examine():
        findings.append(finding)
        if not options.json:
            console.print(
                Text.assemble(f"{finding.what:<14}", (f"{finding.state:<8}", styles[finding.state]), finding.found)
            )
            if finding.cure:
                console.print(Text(f"{'':<22}{finding.cure}", "cyan"))
    if options.json:
        print(json.dumps([dataclasses.asdict(each) for each in findings], indent=2))
    return 1 if any(each.state == FAILS for each in findings) else 0


@dataclass(frozen=True)
class _Finding:
    """The result of one trial."""

    #: The subject of the trial.
    what: str
    #: `WORKS`, `NOTE`, `ABSENT` or `FAILS`.
    state: str
    #: Versions, or the problem.
    found: str
    #: What to do; empty if there is nothing to do.
    cure: str = ""


def _examine() -> Iterator[_Finding]:
    """Try everything; the frameworks come last and run in parallel."""
    is_sound = True
    for trial in (_python, _interpreters, _numba, _compiler, _binutils, _vector_math, _cache, _ops):
        for finding in trial():
            is_sound = is_sound and (finding.state != FAILS or trial is _ops)
            yield finding
    yield from _frameworks(is_sound)


def _python() -> Iterator[_Finding]:
    found = f"{platform.python_version()} at {sys.executable}"
    known = (3, 10) <= sys.version_info[:2] <= (3, 13)
    yield _Finding("Python", WORKS if known else NOTE, found, "" if known else "ops are tested on Python 3.10 to 3.13")


def _interpreters() -> Iterator[_Finding]:
    """Look for the other interpreters that frameworks need: 3.10 for OneFlow, 3.11 for a current PyTorch."""
    for name, why in _PYTHONS.items():
        if name == f"python{sys.version_info[0]}.{sys.version_info[1]}":
            continue
        # Run it, because a pyenv shim exists even without the interpreter behind it.
        works = False
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            works = subprocess.run([name, "-c", "import venv"], capture_output=True, timeout=30).returncode == 0
        if works:
            yield _Finding(name, WORKS, shutil.which(name) or "")
        else:
            yield _Finding(name, ABSENT, "not found", why)


def _numba() -> Iterator[_Finding]:
    from importlib import metadata

    for package in ("numba", "llvmlite", "scipy"):
        done = subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True, text=True)
        lost = hooks.state() if package == "numba" and not done.returncode else ""
        if done.returncode:
            message = (done.stderr.strip().splitlines() or ["it cannot be imported"])[-1]
            cure = f"{sys.executable} -m pip install --force-reinstall {package}"
            yield _Finding(package, FAILS, message, cure)
        elif lost:
            cure = f"{sys.executable} -m pip install '{hooks.RANGE}'"
            yield _Finding(package, NOTE, f"{metadata.version(package)}: {lost}", cure)
        else:
            yield _Finding(package, WORKS, metadata.version(package))


def _compiler() -> Iterator[_Finding]:
    try:
        command = toolchain.compiler()
        version = toolchain.run([*command, "--version"], what="the compiler").splitlines()[0]
        with tempfile.TemporaryDirectory() as folder:
            include = paths.CPP_DEFS / "include"
            flags = ["-std=c++17", "-fPIC", "-shared", f"-I{include}"]
            output = str(Path(folder, "definition.so"))
            toolchain.run([*command, *flags, str(_DEFINITION), "-o", output], what="a definition")
    except PykernelsError as error:
        cure = "apt install g++ (Debian, Ubuntu), or set CXX to a C++17 compiler"
        yield _Finding("C++ compiler", FAILS, str(error).splitlines()[0], cure)
    else:
        yield _Finding("C++ compiler", WORKS, f"{' '.join(command)}: {version}")


def _binutils() -> Iterator[_Finding]:
    found = linking.find_objcopy()
    if found:
        yield _Finding("objcopy", WORKS, found)
    else:
        cure = "apt install binutils (Debian, Ubuntu), for python -m pykernels build"
        yield _Finding("objcopy", ABSENT, "not found", cure)


def _vector_math() -> Iterator[_Finding]:
    found = vector_math.identity()
    if found.startswith("libmvec"):
        yield _Finding("vector math", WORKS, found)
    else:
        cure = "functions such as sin run element by element; only the GNU C library for x86-64 has vector versions"
        yield _Finding("vector math", NOTE, found, cure)


def _cache() -> Iterator[_Finding]:
    directory = cache.directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=directory):
            pass
    except OSError as error:
        cure = "export PYKERNELS_CACHE=DIRECTORY, with a writable directory"
        yield _Finding("cache", FAILS, f"{directory}: {error.strerror}", cure)
        return
    free = shutil.disk_usage(directory).free
    taken = sum(used.size for used in cache.usage().values())
    found = f"{directory}: {taken >> 20} MiB, {free >> 20} MiB free"
    little = free < _LITTLE_ROOM
    yield _Finding("cache", NOTE if little else WORKS, found, "python -m pykernels cache --clear" if little else "")


def _ops() -> Iterator[_Finding]:
    """Check that the op folders of the default places are complete and have different names."""
    owners: dict[str, Path] = {}
    wrong = []
    try:
        for folder in find():
            if folder.name in owners:
                wrong.append(f"{owners[folder.name]} and {folder} have the same name")
            owners.setdefault(folder.name, folder)
            try:
                open_folder(folder).check_files()
            except PykernelsError as error:
                wrong.append(str(error))
    except PykernelsError as error:
        wrong.append(str(error))
    for text in wrong:
        yield _Finding("ops", FAILS, text, "python -m pykernels list")
    if not wrong:
        yield _Finding("ops", WORKS, f"{len(owners)} found")


def _frameworks(is_sound: bool) -> Iterator[_Finding]:
    """Run an op in each installed framework; if the machine is not sound, failures refer to the earlier findings."""
    from pykernels.tools.trial import try_everywhere

    for each, trial in try_everywhere(paths.OPS / "relu"):
        if trial is None:
            problem, _, cure = each.note.partition(": ")
            yield _Finding(each.title, ABSENT, problem, cure)
        elif trial.error:
            cure = _cure_of(each.package, trial.error) if is_sound else "repair what fails above first"
            yield _Finding(each.title, FAILS, f"{each.version}: {trial.error}", cure)
        else:
            notes = [*filter(None, [each.note]), *trial.warnings]
            found = "; ".join([f"{each.version}; an op runs in it", *notes])
            advice = _advice_on(each.package)
            yield _Finding(each.title, NOTE if notes or advice else WORKS, found, advice)


def _advice_on(package: str) -> str:
    """Return what the user of a framework that works has to mind; an empty string where this is nothing."""
    if package == "mxnet" and _lacks_names():
        return (
            f"with NumPy {np.__version__}, import mxnet fails unless pykernels.load_ops() or "
            f"import pykernels.compat.mxnet comes before it; or start scripts with python -m pykernels run"
        )
    return ""


def _lacks_names() -> bool:
    """Return whether NumPy has removed names that old frameworks import."""
    return np.lib.NumpyVersion(np.__version__) >= "1.24.0"


def _cure_of(package: str, error: str) -> str:
    """Return the command that repairs a known error, or that installs the framework."""
    if package == "oneflow" and _lacks_names():
        return f"{sys.executable} -m pip install numpy==1.23.5"
    if "No module named 'onnx'" in error:
        return f"{sys.executable} -m pip install 'pykernels[onnx]'"
    return FRAMEWORKS[package].install
