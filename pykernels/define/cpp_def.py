"""Build C++ definitions against the headers in cpp_defs, load them and read them."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from pykernels.base import abi, paths
from pykernels.base.errors import CompileFailed, DefinitionError
from pykernels.build import shipped, toolchain
from pykernels.build.diagnostics import first_error
from pykernels.define.declarations import read_declarations, write_declarations
from pykernels.define.definition import Definition
from pykernels.define.reader import read_definition

# A compiled definition serves only a few calls, so compile time matters, and so does size, because every process
# loads it: -Og compiles as fast as -O0 and makes code of less than half the size, and most definitions need only a part
# of what they share.
_FLAGS = ("-Og", "-w", "-fvisibility-inlines-hidden", "-ffunction-sections")
# With -Bsymbolic, a definition never uses the standard library's templates of a framework that another compiler built.
_LINKED = (*_FLAGS, "-s", "-Wl,-Bsymbolic", "-Wl,--gc-sections")
# What a definition asks for or compares with if it looks at data types so that it may take complex ones.
_COMPLEX = re.compile(r"\b(kComplex64|kComplex128|IsComplexDataType)\b")
# The code that all definitions share, which is compiled once, to an object; its parts lie in a folder of that name.
_SHARED = paths.CPP_DEFS / "runtime" / "definition.cpp"
# What a definition that only declares is a copy of.
_DECLARED = paths.CPP_DEFS / "runtime" / "declared.cpp"
_INCLUDE = [paths.CPP_DEFS / "include"]
#: The time limit, in seconds, for a definition to register its ops.
_PROBE_TIMEOUT = 60.0
_PROBE = """
import contextlib, ctypes, sys
error = ctypes.create_string_buffer(8192)
with contextlib.suppress(OSError):  # `_read` raises the same error, with the file
    ctypes.CDLL(sys.argv[1]).pykernels_definition(error, ctypes.c_size_t(8192))
print("loaded")
"""


def load_cpp_def(path: Path) -> Definition:
    """Build the C++ definition at `path`, unless it is in the cache, and read it.

    This raises `DefinitionError` if it does not exist, does not compile, or is invalid, `BuildError` if no compiler is
    installed, and `CacheError` if the cache cannot be written.
    """
    path = Path(path).resolve()
    if not path.is_file():
        raise DefinitionError(f"{path}: the file does not exist")
    store = shipped.store_of(path.parent)
    compiled = None if store is None else store.find(path.parent, definition_parts(path))
    if compiled is not None:
        return _read(compiled[0], path)
    return _read(build_definition(path), path)


def build_definition(path: Path) -> Path:
    """Build the C++ definition at `path` as a shared object; raises the errors of `load_cpp_def`."""
    declared = _declared(path)
    if declared is not None:
        return declared
    built = _compile(path)
    _probe(built, path)
    return built


def only_declares(path: Path) -> bool:
    """Whether the C++ definition at `path` needs no compiler, but for what all definitions share."""
    return read_declarations(path.read_text(errors="replace")) is not None


def _declared(path: Path) -> Path | None:
    """Return the definition as a shared object if it only declares, which needs no compiler; else None."""
    calls = read_declarations(path.read_text(errors="replace"))
    return None if calls is None else write_declarations(calls, path, _compile(_DECLARED))


def _compile(path: Path) -> Path:
    try:
        return toolchain.build_shared(
            path.stem,
            [path],
            kind="definitions",
            flags=(*_LINKED, *_complex_flags(path)),
            include=_INCLUDE,
            objects=[functools.partial(_build_object, _SHARED)],
            key=_shared_key(),
            is_movable=True,
            shows_progress=False,
        )
    except CompileFailed as error:
        raise DefinitionError(first_error(error.output, path)) from error


def _build_object(source: Path, *flags: str) -> Path:
    return toolchain.build_object(
        source.stem,
        source,
        kind="definitions",
        flags=(*_FLAGS, *_complex_flags(source), *flags),
        include=_INCLUDE,
        key=_shared_key(),
        is_movable=True,
    )


def _shared_key() -> list[str]:
    return [_SHARED.read_text(), toolchain.headers(_SHARED.with_suffix(""))]


def definition_parts(path: Path) -> list[str | bytes]:
    """Return everything that a compiled definition depends on, apart from the compiler."""
    return [str(abi.DEFINITION_ABI), path.read_bytes(), *_files_beside(path)]


def compile_objects(path: Path) -> list[Path]:
    """Compile the C++ definition at `path`, which `load_cpp_def` has accepted, to relocatable objects in the cache."""
    # With this flag, all symbols can become local, so that one library can contain several definitions.
    flag = "-fno-gnu-unique"
    return toolchain.in_parallel([functools.partial(_build_object, source, flag) for source in (path, _SHARED)])


def _complex_flags(path: Path) -> list[str]:
    """Return the flag of a definition that names complex data types."""
    return ["-DPYKERNELS_NAMES_COMPLEX=true"] if _COMPLEX.search(path.read_text(errors="replace")) else []


def _files_beside(path: Path) -> list[str | bytes]:
    """Return the names and contents of the files that the definition may include: all in its folder except Python."""
    files = [file for file in sorted(path.parent.rglob("*")) if file.is_file() and file.suffix not in (".py", ".pyc")]
    return [part for file in files if file != path for part in (str(file.relative_to(path.parent)), file.read_bytes())]


def _read(built: Path, path: Path) -> Definition:
    try:
        library = ctypes.CDLL(str(built), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        entry = library.pykernels_definition
    except OSError as error:
        raise DefinitionError(f"{path}: the compiled definition cannot be loaded: {error}") from error
    entry.restype = ctypes.c_void_p
    entry.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    error_text = ctypes.create_string_buffer(abi.ERROR_SIZE)
    address = entry(error_text, abi.ERROR_SIZE)
    if not address:
        raise DefinitionError(f"{path}: {error_text.value.decode(errors='replace')}")
    return read_definition(path, address, library)


def _probe(built: Path, path: Path) -> None:
    """Load a newly compiled definition in another process first, because it may crash the process.

    Registration runs while the shared object is being loaded, when an exception ends the process.
    """
    passed = built.with_suffix(".loads")
    if passed.exists() or not sys.executable:
        return
    command = [sys.executable, "-I", "-S", "-c", _PROBE, str(built)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PROBE_TIMEOUT)
    except subprocess.TimeoutExpired:
        raise DefinitionError(f"{path}: registering its ops takes more than {_PROBE_TIMEOUT:.0f} s") from None
    output = done.stderr.strip() or "no output"
    if done.returncode < 0:
        signal_name = signal.Signals(-done.returncode).name
        raise DefinitionError(f"{path}: registering its ops ends the process ({signal_name}): {output}")
    if not done.stdout.endswith("loaded\n"):
        raise DefinitionError(
            f"{path}: registering its ops ends the process, with exit code {done.returncode}: {output}. "
            "A definition may not call exit"
        )
    with contextlib.suppress(OSError):
        # If the cache is read-only, the probe runs again next time.
        passed.touch()
