"""Find the C++ compiler, try it, and compile into the cache."""

from __future__ import annotations

import contextlib
import contextvars
import errno
import functools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pykernels.base import paths, progress
from pykernels.base.errors import BuildError, CompileFailed
from pykernels.build import cache

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

_CANDIDATES = ("g++", "c++", "clang++")
_COMMON_FLAGS = (
    "-fPIC",
    "-std=c++17",
    "-fvisibility=hidden",
    # List the included files, see `_build`.
    "-MMD",
    # Source locations in objects must not depend on where our sources lie.
    *(f"-fmacro-prefix-map={folder}={folder.name}" for folder in (paths.REGISTRY, paths.CPP_DEFS)),
)


def compiler() -> tuple[str, ...]:
    """Return the command of the C++ compiler: ``$CXX``, else the first of g++, c++ and clang++ on the PATH.

    This raises `BuildError` if none is installed, or it does not run.
    """
    return _find(os.environ.get("CXX", ""), os.environ.get("PATH", ""))


@functools.lru_cache(maxsize=8)
def _find(chosen: str, path: str) -> tuple[str, ...]:
    import shlex  # imported here, like shutil: cached files need no compiler
    import shutil

    command = shlex.split(chosen) if chosen else [name for name in _CANDIDATES if shutil.which(name, path=path)][:1]
    if not command or not shutil.which(command[0], path=path):
        problem = f"$CXX names {chosen!r}, which is not on the PATH" if chosen else "no C++ compiler is on the PATH"
        raise BuildError(f"{problem}. Install one (Debian, Ubuntu: apt install g++) or set CXX to its path")
    try:
        subprocess.run([*command, "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"the C++ compiler {' '.join(command)!r} does not run: {error}") from error
    return tuple(command)


def build_shared(
    name: str,
    sources: Sequence[Path],
    *,
    kind: str = "native",
    flags: Sequence[str] = (),
    include: Sequence[Path] = (),
    objects: Sequence[Callable[[], Path]] = (),
    libraries: Sequence[str] = (),
    key: Sequence[str] = (),
    is_movable: bool = False,
    shows_progress: bool = True,
) -> Path:
    """Compile C++ sources into a shared object in the cache.

    Parameters
    ----------
    name : str
        The file name without its ending; the content distinguishes `sources` with the same name.
    sources : sequence of Path
        Compiled and linked together.
    kind : str
        The kind of cache entry.
    flags : sequence of str
        Added to the common flags.
    include : sequence of Path
        Folders of headers. Every header in them is part of the key, so pass only our own folders here; pass others in
        `flags`, and what identifies them in `key`.
    objects : sequence of callable
        Return the paths of objects to link with the sources, and may build them; `key` must distinguish them.
    libraries : sequence of str
        Arguments of the linker after all objects.
    key : sequence of str
        Everything else that the result depends on.
    is_movable : bool
        Whether the result is independent of the sources' folder: ``__FILE__`` is then relative to it.
    shows_progress : bool
        Whether to show a bar at a terminal if there are several parts.

    Raises
    ------
    CompileFailed
        The compiler refused the sources; `.output` is what it printed.
    BuildError
        No compiler is installed.
    CacheError
        The cache cannot be written.
    """

    def make(command: Sequence[str], output: Path) -> list[Path]:
        if len(sources) == 1 and not objects:
            return _compile([*command, "-shared", str(sources[0]), "-o", str(output), *libraries], output, name)
        included: list[Path] = []

        def compile_part(source: Path, part: Path) -> Path:
            included.extend(_compile([*command, "-c", str(source), "-o", str(part)], part, name))
            return part

        made = [output.with_name(f"{number}.o") for number in range(len(sources))]
        tasks: list[Callable[[], Path]] = [
            *objects,
            *(functools.partial(compile_part, *pair) for pair in zip(sources, made)),
        ]
        message = f"pykernels: building the {name.replace('_', ' ')}, once"
        with progress.bar(message, len(tasks) + 1) if shows_progress else contextlib.nullcontext(progress.Bar()) as bar:
            parts = in_parallel(tasks, bar.advance)
            run([*command, "-shared", *map(str, parts), "-o", str(output), *libraries], what=name)
        for part in made:
            part.unlink()
        return included

    return _build(kind, f"{name}.so", sources, flags, include, [*libraries, *key], is_movable, make)


def build_object(
    name: str,
    source: Path,
    *,
    kind: str = "native",
    flags: Sequence[str] = (),
    include: Sequence[Path] = (),
    key: Sequence[str] = (),
    is_movable: bool = False,
) -> Path:
    """Compile a C++ source into a relocatable object in the cache; otherwise like `build_shared`."""

    def make(command: Sequence[str], output: Path) -> list[Path]:
        return _compile([*command, "-c", str(source), "-o", str(output)], output, name)

    return _build(kind, f"{name}.o", [source], flags, include, ["object", *key], is_movable, make)


def in_parallel(tasks: Sequence[Callable[[], T]], done: Callable[[object], None] | None = None) -> list[T]:
    """Call functions in threads, at most one for each processor, and return their results; call `done` after each.

    They have the caller's context, such as the chosen processor. An error is raised when all have ended.
    """
    with _begun(tasks, done) as results:
        pass
    return [result.result() for result in results]


@contextlib.contextmanager
def beside(tasks: Sequence[Callable[[], object]]) -> Iterator[None]:
    """Call functions as `in_parallel` does, while the block runs; leave out their results and errors."""
    with _begun(tasks):
        yield


@contextlib.contextmanager
def _begun(tasks: Sequence[Callable[[], T]], done: Callable[[object], None] | None = None) -> Iterator[list[Future[T]]]:
    """Call functions in threads, and wait for them at the block's end."""
    # Imported here: few programs build anything. Its executors share a lock that a fork takes before it waits for the
    # holders of our locks, and they may need it to go on. A pool of multiprocessing leaves semaphores behind if its
    # process is stopped.
    from concurrent.futures import Future, wait

    results: list[Future[T]] = [Future() for _ in tasks]
    left = iter([*zip(tasks, results)])

    def work() -> None:
        for task, result in left:
            try:
                result.set_result(task())
            except BaseException as error:
                result.set_exception(error)

    if done is not None:
        for result in results:
            result.add_done_callback(done)
    for _ in range(min(len(tasks), os.cpu_count() or 1)):
        threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True).start()
    try:
        yield results
    finally:
        try:
            wait(results)
        finally:
            for _ in left:  # An interrupt leaves out what has not begun.
                pass


def _build(
    kind: str,
    filename: str,
    sources: Sequence[Path],
    flags: Sequence[str],
    include: Sequence[Path],
    others: Sequence[str],
    is_movable: bool,
    make: Callable[[Sequence[str], Path], list[Path]],
) -> Path:
    """Return the file that `make` writes, from the cache if all the files that it included are unchanged.

    `make` takes the compiler's command with all options, and the path to write; it returns the included files. They are
    known only after compilation. So each entry lists them, and the key of the next entry adds their content; an entry
    that lists no new file is the result. Our own files and `include` are in the key already; other files are named
    relative to the sources' folder if the result is movable.
    """
    folder = sources[0].parent if is_movable else None
    # Behind a C ABI any compiler will do, so cached files need none; only a compiler that the user chose is in the key.
    chosen = os.environ.get("CXX", "")
    names = [source.name if is_movable else str(source) for source in sources]
    key = cache.digest([chosen, *_COMMON_FLAGS, *flags, *others, *names, *sources, *map(headers, include)])
    own = (paths.REGISTRY, paths.CPP_DEFS, *include)
    built: list[cache.Entry] = []  # by this call; the next entry has the content of the last

    def write(output: Path) -> dict[str, list[str]]:
        if built:
            output.write_bytes(built[-1].path.read_bytes())
            return built[-1].facts
        mapped = [f"-fmacro-prefix-map={source.parent}/=" for source in sources] if is_movable else []
        command = [*compiler(), *_COMMON_FLAGS, *mapped, *flags, *(f"-I{each}" for each in include)]
        files = {file for file in make(command, output) if not any(file.is_relative_to(each) for each in own)}
        facts = {"includes": sorted(os.path.relpath(file, folder) if folder else str(file) for file in files)}
        built.append(cache.Entry(output, facts))
        return facts

    known: list[str] = []
    while True:
        entry = cache.build(kind, f"{Path(filename).stem}-{key}", filename, write)
        built[:] = [entry] if built else []
        found = [name for name in entry.facts["includes"] if name not in known]
        if not found:
            return entry.path
        known += found
        key = cache.digest([key, *(part for name in found for part in (name, _content_of(Path(folder or "", name))))])


def _content_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # the compiler reports that it is missing
        return b""


def _compile(command: Sequence[str], output: Path, what: str) -> list[Path]:
    """Run a compiler and return the files that it has included, without those of the system."""
    listed = output.with_name(f"{output.name}.d")
    run([*command, "-MF", str(listed)], what=what)
    text = listed.read_text(errors="surrogateescape").partition(": ")[2].replace("\\\n", " ")
    listed.unlink()
    names = re.findall(r"(?:\\[ #]|[^\s])+", text)
    # The first is the source itself.
    return [Path(os.path.abspath(re.sub(r"\\([ #])", r"\1", name).replace("$$", "$"))) for name in names[1:]]


def headers(folder: Path) -> str:
    """Return a digest of the headers in a folder; they are read again only when one has changed."""
    return _content(tuple(sorted(_stamps(str(folder)))))


def _stamps(folder: str) -> Iterator[tuple[str, int, int, int]]:
    """Yield the path, times and size of each header in a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _stamps(entry.path)
            elif entry.name.endswith((".h", ".hpp", ".inl")):
                stat = entry.stat()
                yield entry.path, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size


@functools.lru_cache(maxsize=8)
def _content(stamps: tuple[tuple[str, int, int, int], ...]) -> str:
    return cache.digest(Path(file) for file, *_ in stamps)


def announce(what: str) -> None:
    """Explain at a terminal why nothing happens for some seconds."""
    if sys.stderr.isatty():
        sys.stderr.write(f"pykernels: {what}\n")  # in one write, from any thread


def run(command: Sequence[str], *, what: str) -> str:
    """Run a compiler or linker and return what it prints; raise `CompileFailed` with that if it fails."""
    # In English and without colours, so that messages can be parsed.
    environment = {**os.environ, "LC_ALL": "C", "GCC_COLORS": "", "TERM": "dumb"}
    done = subprocess.run(list(command), capture_output=True, text=True, env=environment, errors="replace")
    if done.returncode != 0:
        output = done.stderr or done.stdout
        if os.strerror(errno.ENOSPC) in output:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # the cache reports it
        raise CompileFailed(f"{what} does not compile", output)
    return done.stdout + done.stderr
