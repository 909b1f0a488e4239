"""Build a wheel of a package of ops that contains their compiled objects."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from pykernels.base.errors import BuildError, LoadError
from pykernels.base.version import __version__
from pykernels.build import cache, machine, shipped
from pykernels.define.cpp_def import build_definition, definition_parts
from pykernels.frameworks.registrar_libraries import RegistrarLibrary
from pykernels.kernel.shipping import kernel_parts
from pykernels.load.folders import CPP_DEF
from pykernels.load.module import OpModule
from pykernels.tools import stubs
from pykernels.tools.ship.kernels import Kernels

# The parts of a project that its copy does not need.
_IGNORED = shutil.ignore_patterns("__pycache__", "build", "dist", "*.egg-info", ".git", ".venv*", shipped.FOLDER)


@dataclass(frozen=True)
class Project:
    """The project of a package of ops."""

    #: The folder of its ``pyproject.toml``.
    root: Path
    #: Its folders of op folders.
    collections: tuple[Path, ...]


def find_project(root: Path) -> Project:
    """Find the project in a folder.

    This raises `LoadError` if it is missing or has no entry point of the group ``pykernels.ops``, or the folder of an
    entry point is missing, and `BuildError` if a tool that builds its wheel is not installed.
    """
    file = root / "pyproject.toml"
    if not file.is_file():
        raise LoadError(
            f"{file} does not exist; give the folder of a package, such as python -m pykernels new --package NAME "
            "writes"
        )
    text = file.read_text(encoding="utf-8")
    modules = _entry_points(text)
    if not modules:
        raise LoadError(
            f'{file} has no table [project.entry-points."pykernels.ops"]; add one with a line NAME = "MODULE"'
        )
    collections = []
    for module in modules:
        places = [root.joinpath(*parts, *module.split(".")) for parts in ((), ("src",))]
        found = next((place for place in places if place.is_dir()), None)
        if found is None:
            raise LoadError(f"{file}: the entry point is for {module!r}, but the folder {places[0]} does not exist")
        collections.append(found)
    _check_tools(text)
    return Project(root, tuple(collections))


def _entry_points(text: str) -> list[str]:
    """Return the modules of the group's entry points in a ``pyproject.toml``, which Python 3.10 cannot parse."""
    table = re.search(r"^\[project\.entry-points\.[\"']pykernels\.ops[\"']\]\s*$(.*?)(?=^\[|\Z)", text, re.M | re.S)
    found = re.findall(r"^\s*[\w.\"'-]+\s*=\s*[\"']([\w.]+)[\"']\s*(?:#.*)?$", table[1] if table else "", re.M)
    return list(dict.fromkeys(found))


def _check_tools(text: str) -> None:
    """Raise an error if a tool that builds wheels is missing, before anything is compiled."""
    backend = re.search(r"^\s*build-backend\s*=\s*[\"'](\w+)", text, re.M)
    needed = ("pip", backend[1] if backend else "setuptools", "wheel")
    # importlib.util would trigger hooks of setuptools that react to a search for pip.
    missing = [name for name in needed if PathFinder.find_spec(name) is None]
    if missing:
        raise BuildError(
            f"the wheel cannot be built, since {' and '.join(missing)} cannot be imported: "
            f"{sys.executable} -m pip install {' '.join(missing)}"
        )


def build_wheel(
    project: Project,
    kernels: Kernels,
    registrars: Sequence[RegistrarLibrary],
    output: Path,
    *,
    cpu: str,
) -> Path:
    """Build the wheel of a package into the folder `output`, and return it; the project itself does not change.

    The wheel contains the definitions of its ops, their `kernels`, which are compiled for the processor `cpu`, and
    `registrars`. This raises `BuildError` if pip, or a tool that it runs, fails.
    """
    with tempfile.TemporaryDirectory(prefix="pykernels-wheel-") as scratch:
        copy = Path(scratch, "project")
        shutil.copytree(project.root, copy, ignore=_IGNORED)
        for collection in project.collections:
            inside = copy / collection.relative_to(project.root)
            own = {module: group for module, group in kernels.items() if module.path.parent == collection.resolve()}
            write_store(inside / shipped.FOLDER, own, registrars, cpu)
            _write_types(inside, own)
        made = Path(scratch, "wheel")
        _run("pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(made), str(copy))
        (pure,) = made.glob("*.whl")
        _run("wheel", "tags", "--remove", "--platform-tag", _platform(), str(pure))
        (wheel,) = made.glob("*.whl")
        try:
            output.mkdir(parents=True, exist_ok=True)
            return Path(shutil.copy(wheel, output / wheel.name))
        except OSError as error:
            raise BuildError(f"{output / wheel.name} cannot be written: {error.strerror}") from error


def carried_registrars(wheel: Path, folder: Path) -> list[RegistrarLibrary]:
    """Unpack the registrars of a wheel into a folder, and return them.

    This raises `LoadError` if it has none, they are damaged, or another version of pykernels built them.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        stores = [shipped.Store.read(manifest.parent) for manifest in sorted(folder.rglob(shipped.MANIFEST))]
    except (OSError, zipfile.BadZipFile, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LoadError(f"{wheel} cannot be read: {error}") from error
    for store in stores:
        if store.pykernels != __version__:
            raise LoadError(f"{wheel} was built by pykernels {store.pykernels}, but this is {__version__}")
    carried = {(each.framework, str(each.made_for)): each for store in stores for each in store.registrars}
    if not carried or not all(each.is_intact() for each in carried.values()):
        raise LoadError(
            f"{wheel} has {'damaged' if carried else 'no'} registrars: build it again with python -m pykernels "
            "build --wheel where the frameworks are installed"
        )
    return [RegistrarLibrary(each.framework, each.path, each.made_for) for each in carried.values()]


def write_store(folder: Path, kernels: Kernels, registrars: Sequence[RegistrarLibrary], cpu: str) -> None:
    """Write the ``compiled`` folder of a collection."""
    folder.mkdir()
    ops = {}
    for module, group in kernels.items():
        objects: dict[str, Any] = {}
        specialize_on: dict[str, str] = {}
        path = module.files[CPP_DEF]
        if path.suffix != ".py":
            built = build_definition(path)
            _add(objects, folder, f"{module.name}_definition.so", definition_parts(path), built, {})
        for number, kernel in enumerate(group):
            function = module.kernel(kernel.op.name)
            signature = kernel.signature.without_ranks() if kernel.any_rank else kernel.signature
            name = f"{kernel.op.name}_{number}.so"
            _add(objects, folder, name, kernel_parts(function, signature), kernel.path, kernel.facts.to_json())
            given = kernel.given
            for each in signature.specialized:
                specialize_on[cache.digest(kernel_parts(function, given))] = each
                given = given.specialize((each,), dict(signature.constants))
        ops[module.name] = {"files": shipped.contents(module.path), "objects": objects, "specialize_on": specialize_on}
    carried = []
    for number, library in enumerate(registrars):
        name = f"{library.framework}_registrar_{number}.so"
        digest = _copy(library.path, folder / name)
        carried.append({"framework": library.framework, "file": name, "digest": digest, "made_for": library.made_for})
    manifest = {"pykernels": __version__, "made_for": shipped.made_for(cpu), "ops": ops, "registrars": carried}
    (folder / shipped.MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _write_types(collection: Path, modules: Iterable[OpModule]) -> None:
    """Add types of the ops for type checkers; a stub that the author wrote stays."""
    (collection / "py.typed").touch()
    with contextlib.suppress(LoadError):
        stubs.write_stubs(collection / stubs.FILE, map(stubs.describe_module, modules))


def _add(
    objects: dict[str, Any], folder: Path, name: str, parts: Sequence[str | bytes], path: Path, facts: dict[str, Any]
) -> None:
    objects[cache.digest(parts)] = {"file": name, "digest": _copy(path, folder / name), "facts": facts}


def _copy(path: Path, target: Path) -> str:
    """Copy an object, and return the digest of its content."""
    shutil.copy(path, target)
    return hashlib.sha256(target.read_bytes()).hexdigest()


def _run(module: str, *arguments: str) -> None:
    command = [sys.executable, "-m", module, *arguments]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
    if done.returncode:
        output = "\n".join((done.stderr or done.stdout).strip().splitlines()[-30:])
        raise BuildError(f"the wheel cannot be built: python -m {module} {arguments[0]}: {output}")


def _platform() -> str:
    """Return the platform tag of code that is compiled on this machine."""
    version = machine.libc().rpartition(" ")[2]
    if not version:
        raise BuildError("a wheel with compiled objects is made for the GNU C library, which this system does not have")
    return f"manylinux_{version.replace('.', '_')}_{platform.machine()}"
