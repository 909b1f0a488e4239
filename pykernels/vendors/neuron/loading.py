"""Load libraries of Neuron operators into this process, once each and after checks."""

from __future__ import annotations

import collections
import ctypes
import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from pykernels.base import locks
from pykernels.base.errors import BuildError, DefinitionError, LoadError
from pykernels.build import cache
from pykernels.build.output import replacing
from pykernels.vendors.neuron.build import MARK, Recipe, build

#: The largest stack of a device, in bytes.
_LARGEST_STACK = 400 * 1024


@dataclass(frozen=True)
class _Built:
    """A library that `load` has built and loaded, with its recipe and the digests of its files at that time."""

    recipe: Recipe
    digests: dict[Path, str]
    path: Path


_lock = locks.Lock("loading a library")
# The built libraries by the destination of `load`; the digests of all loaded libraries by path.
_built: dict[tuple[str, Path | None], _Built] = {}
_loaded: dict[Path, str] = {}
_failures: collections.Counter[Path] = collections.Counter()


def load(
    name: str,
    compute_srcs: Sequence[str | os.PathLike[str]],
    shape_srcs: Sequence[str | os.PathLike[str]],
    build_directory: str | os.PathLike[str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    multicore: bool = False,
    verbose: bool = False,
) -> str:
    """Build a library of operators from C++ files and load it, which adds its operators to ``torch.ops``.

    Unchanged files are not compiled again, and a loaded library is not loaded again.

    Parameters
    ----------
    name : str
        The library is called ``lib<name>.so``.
    compute_srcs : sequence of path
        The C++ files with the kernel functions.
    shape_srcs : sequence of path
        The C++ files with the shape functions and ``NEURON_LIBRARY``.
    build_directory : path, optional
        Where to put the library, for `load_library`. Without one it stays in the cache.
    extra_cflags : sequence of str, optional
        Options for the compiler. ``-DSTACK_SIZE=20000`` is accepted as on a device, and has no effect.
    multicore : bool
        Run kernels once for each of 8 cores, one after the other, with `get_cpu_id` from 0 to 7.
    verbose : bool
        Print the compiler's commands and warnings.

    Returns
    -------
    str
        The path of the library.

    Raises
    ------
    BuildError
        A file does not compile (`CompileFailed`), there is no compiler, or this version of PyTorch is not supported.
    DefinitionError
        The operators are wrong: a kernel function is missing, or disagrees with its shape function.
    LoadError
        An argument is wrong, or a file is missing or has changed since the library was loaded.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name):
        raise LoadError(f"custom_op.load: name must be that of a file, lib<name>.so, but is {name!r}")
    recipe = Recipe(
        name,
        _files("compute_srcs", compute_srcs),
        _files("shape_srcs", shape_srcs),
        _flags(extra_cflags),
        multicore=bool(multicore),
        verbose=bool(verbose),
    )
    directory = None if build_directory is None else Path(build_directory).absolute()
    with _lock:
        known = _built.get((name, directory))
        digests = recipe.digests()
        if known is not None:
            _check_unchanged(known, recipe, digests)
            if known.path.exists():
                return str(known.path)
        path = _install(build(recipe), directory)
        load_library(path)
        _built[name, directory] = _Built(recipe, digests, path)
    return str(path)


def load_library(path: str | os.PathLike[str]) -> None:
    """Load a library that `load` has built, in this process or another one.

    A loaded library is not loaded again.

    Parameters
    ----------
    path : path
        The file, ``lib<name>.so``.

    Raises
    ------
    LoadError
        The file is missing, is not such a library, was built for another PyTorch, or has changed since it was loaded.
    DefinitionError
        The operators are wrong: a namespace is used twice, for instance.
    """
    file = Path(path).resolve()
    try:
        content = file.read_bytes()
    except OSError as error:
        raise LoadError(f"{path}: {error.strerror}; custom_op.load builds a library") from None
    digest = cache.digest([content])
    with _lock:
        if digest in _loaded.values():
            return
        if file in _loaded:
            raise LoadError(f"{path}: the library has changed since it was loaded: start Python again to use it")
        _check_description(path, content)
        _open(path, file)
        _loaded[file] = digest


def _check_description(path: str | os.PathLike[str], content: bytes) -> None:
    """Refuse a library before any of its code runs."""
    library, mark, text = content.rpartition(MARK)
    try:
        description = json.loads(text) if mark else {}
        built_for, is_whole = description["torch"], description["digest"] == cache.digest([library])
    except (ValueError, KeyError):
        raise LoadError(f"{path}: this is not a library that custom_op.load has built, or not all of it") from None
    if not is_whole:
        raise LoadError(f"{path}: the library is damaged: build it again with custom_op.load")
    if built_for != torch.__version__:
        raise LoadError(
            f"{path}: the library was built for PyTorch {built_for}, and this is {torch.__version__}: "
            "build it again with custom_op.load"
        )


def _open(path: str | os.PathLike[str], file: Path) -> None:
    # A library that failed stays mapped, and the system identifies files by the spelling of their paths.
    written = f"{file.parent}/{'./' * _failures[file]}{file.name}"
    try:
        library = ctypes.CDLL(written, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise LoadError(f"{path}: the library cannot be loaded: {error}") from None
    library.torchneuron_errors.restype = ctypes.c_char_p
    errors = library.torchneuron_errors().decode(errors="replace")
    if errors or library.torchneuron_operators() == 0:
        _failures[file] += 1
        raise DefinitionError(errors or f"{path}: no shape file defines operators with NEURON_LIBRARY")


def _files(argument: str, sources: Sequence[str | os.PathLike[str]]) -> tuple[Path, ...]:
    if isinstance(sources, (str, bytes, os.PathLike)) or not sources:
        raise LoadError(f"custom_op.load: {argument} must be a list of C++ files, but is {sources!r}")
    files = tuple(map(Path, sources))
    for file in files:
        if not file.is_file():
            raise LoadError(f"{file}: the file does not exist; it is one of {argument} (in {Path.cwd()})")
    return files


def _flags(flags: Sequence[str] | None) -> tuple[str, ...]:
    if isinstance(flags, str) or not all(isinstance(flag, str) for flag in flags or ()):
        raise LoadError(f"custom_op.load: extra_cflags must be a list of options, but is {flags!r}")
    for flag in flags or ():
        found = re.fullmatch(r"-DSTACK_SIZE=(\d+)", flag)
        if found and int(found[1]) > _LARGEST_STACK:
            raise BuildError(f"custom_op.load: {flag}: the largest stack of a device is {_LARGEST_STACK} bytes")
    return tuple(flags or ())


def _check_unchanged(known: _Built, recipe: Recipe, digests: dict[Path, str]) -> None:
    again = f"since lib{recipe.name}.so was loaded: start Python again to use it"
    for file, digest in digests.items():
        if known.digests.get(file, digest) != digest:
            raise LoadError(f"{file}: the file has changed {again}")
    if recipe != known.recipe or digests != known.digests:
        raise LoadError(f"custom_op.load: the files or options of the library have changed {again}")


def _install(library: Path, directory: Path | None) -> Path:
    """Put a library into a directory atomically."""
    if directory is None:
        return library
    target = directory / library.name
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if target.is_file() and target.read_bytes() == library.read_bytes():
            return target
    except OSError as error:
        raise BuildError(f"{target}: the library cannot be written: {error.strerror}") from error
    with replacing([target]) as files:
        shutil.copyfile(library, files[target])
        files[target].chmod(0o755)
    return target
