"""Implement ``python -m pykernels build``."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykernels.base import progress
from pykernels.base.errors import BuildError, LoadError, PykernelsError
from pykernels.build import linking, processor
from pykernels.frameworks.registrar_libraries import REGISTRARS, RegistrarLibrary, build_library, installed_registrars
from pykernels.load.module import OpModule, open_folder
from pykernels.tools.commands import arguments
from pykernels.tools.commands.processes import in_processes

if TYPE_CHECKING:
    from pykernels.tools.ship.kernels import LibraryKernel, Wanted

# Nearly every x86-64 processor made since about 2015 has this level.
_WHEEL_CPU = "x86-64-v3"


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("build", help="build a library or a wheel of compiled ops", description=_run.__doc__)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--onnx", action="store_true", help="build a library of custom ops for ONNX Runtime")
    kind.add_argument("--c", action="store_true", help="build a library of C functions, with a header beside it")
    kind.add_argument(
        "--wheel",
        action="store_true",
        help="build a wheel for pip of the package in the given folder (by default the current directory)",
    )
    arguments.add_ops(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the library to write, or the folder for a wheel (dist)"
    )
    parser.add_argument(
        "--cpu", help="the processor to compile for, such as x86-64-v3 (this machine's; for a wheel, x86-64-v3)"
    )
    arguments.add_dtypes(parser, "those of float16, float32 and float64 that the op takes")
    arguments.add_inputs(parser)
    parser.add_argument(
        "--frameworks",
        nargs="*",
        choices=REGISTRARS,
        metavar="FRAMEWORK",
        help=f"the frameworks whose registrars the wheel contains, of {', '.join(REGISTRARS)} (those installed); "
        "without a name, none",
    )
    parser.add_argument(
        "--registrars-of",
        type=Path,
        metavar="WHEEL",
        help="a wheel that was built with other frameworks installed, whose registrars are added",
    )
    parser.add_argument(
        "--domain", help="the domain of the ONNX nodes (the one that the op folder chooses, or pykernels)"
    )
    parser.add_argument("--no-gradients", dest="gradients", action="store_false", help="leave out the ops of gradients")
    arguments.add_jobs(parser, "processes")
    parser.set_defaults(run=lambda options: _run(options, parser))


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Build a library that runs ops without Python, numba or pykernels, or a wheel whose ops need no compiler."""
    if options.wheel:
        with tempfile.TemporaryDirectory(prefix="pykernels-registrars-") as scratch:
            return _build_wheel(options, Path(scratch))
    if not options.ops:
        parser.error("give an op: its name, an op folder or a folder of op folders")
    if options.output is None:
        parser.error("give the library to write with -o")
    from pykernels.tools.ship.assembly import check_definition
    from pykernels.tools.ship.c_library import PREFIX, build_c_library
    from pykernels.tools.ship.onnx_library import build_onnx_library

    modules = arguments.find_modules(options.ops)
    for module in modules:
        check_definition(module)
    with _compiled(options, modules, options.cpu or processor.NATIVE) as (kernels, reasons, bar):
        bar.begin(f"linking {options.output.name}")
        if options.c:
            ops = build_c_library(options.output, kernels)
        else:
            ops = build_onnx_library(options.output, kernels, domain=options.domain)
    for reason in reasons:
        print(f"pykernels: left out: {reason}", file=sys.stderr)
    flat = [kernel for group in kernels.values() for kernel in group]
    for op in ops:
        name = f"{PREFIX}{op.name}" if options.c else f"{op.domain}::{op.name}"
        print(f"{name}: {_coverage(kernel for kernel in flat if kernel.op is op.op)}")
    return 0


def _build_wheel(options: argparse.Namespace, scratch: Path) -> int:
    from pykernels.tools.ship.wheel import build_wheel, carried_registrars, find_project

    others = carried_registrars(options.registrars_of, scratch) if options.registrars_of else []
    project = find_project(Path(*options.ops or ["."]).absolute())
    modules = arguments.find_modules([str(collection) for collection in project.collections])
    cpu = options.cpu or (_WHEEL_CPU if _WHEEL_CPU in processor.known() else processor.NATIVE)
    frameworks = list(dict.fromkeys(installed_registrars() if options.frameworks is None else options.frameworks))
    with _compiled(options, modules, cpu, frameworks) as (kernels, missing, bar):
        bar.begin("registrars")
        registrars, left_out = _registrars(frameworks, is_chosen=options.frameworks is not None)
        made = [(library.framework, library.made_for) for library in registrars]
        registrars += [library for library in others if (library.framework, library.made_for) not in made]
        bar.advance()
        bar.begin("packing the wheel")
        wheel = build_wheel(project, kernels, registrars, options.output or project.root / "dist", cpu=cpu)
    for reason in (*(f"not compiled: {reason}" for reason in missing), *left_out):
        print(f"pykernels: {reason}", file=sys.stderr)
    for module, group in kernels.items():
        for op in module.definition.ops.values():
            coverage = _coverage(kernel for kernel in group if kernel.op is op)
            print(f"{op.name}: {coverage or 'source only'}")
    for library in registrars:
        print(f"registrar for {library}: {_size(library.path)}")
    print(f"wrote {wheel}: {_size(wheel)}")
    return 0


@contextlib.contextmanager
def _compiled(
    options: argparse.Namespace, modules: Sequence[OpModule], cpu: str, frameworks: Sequence[str] = ()
) -> Iterator[tuple[dict[OpModule, list[LibraryKernel]], list[str], progress.Bar]]:
    """Compile the kernels of each op; yield them, the reasons why others are left out, and the bar.

    For a wheel, this also builds the registrars of `frameworks`, and an op without kernels is no error.
    """
    from pykernels.tools.ship.kernels import DEFAULT_DTYPES, Wanted, compile_kernels

    filename = linking.LOADABLE if options.wheel else linking.RELOCATABLE
    wanted = Wanted(options.dtypes or (), options.shapes, options.attributes, options.gradients, filename)
    # Fill the cache in several processes; the slowest go first.
    calls = [functools.partial(_fill_registrar, framework) for framework in frameworks]
    calls += [
        functools.partial(_fill, module.path, dataclasses.replace(wanted, dtypes=[dtype]), cpu)
        for module in modules
        for dtype in wanted.dtypes or DEFAULT_DTYPES
    ]
    if min(options.jobs, len(calls)) == 1:
        calls = []
    kernels, reasons = {}, []
    with processor.compiling_for(cpu), progress.bar("compiling", len(calls) + len(modules) + 1 + options.wheel) as bar:
        list(in_processes(calls, options.jobs, bar))
        for module in modules:
            bar.begin(f"compiling {module.name}")
            try:
                kernels[module], left_out = compile_kernels(module, wanted)
            except BuildError as error:
                if not options.wheel:
                    raise
                kernels[module], left_out = [], [str(error)]
            reasons += left_out
            bar.advance()
        yield kernels, reasons, bar


def _registrars(frameworks: Sequence[str], *, is_chosen: bool) -> tuple[list[RegistrarLibrary], list[str]]:
    """Build registrars; for frameworks that nobody chose, a failure becomes a reason in the second list."""
    found, left_out = [], []
    for framework in frameworks:
        try:
            found.append(build_library(framework))
        except (BuildError, LoadError) as error:
            if is_chosen:
                raise
            left_out.append(f"no registrar for {framework}: {error}")
    return found, left_out


def _size(path: Path) -> str:
    return f"{path.stat().st_size / 1024:.0f} KiB"


def _fill(folder: Path, wanted: Wanted, cpu: str) -> None:
    from pykernels.tools.ship.kernels import compile_kernels

    # Errors occur again later, where they are reported.
    with contextlib.suppress(PykernelsError), processor.compiling_for(cpu):
        compile_kernels(open_folder(folder), wanted)


def _fill_registrar(framework: str) -> None:
    with contextlib.suppress(PykernelsError):
        build_library(framework)


def _coverage(kernels: Iterable[LibraryKernel]) -> str:
    """Return the dtypes and numbers of axes of the first input for which there are kernels."""
    found: dict[str, set[str]] = {}
    for kernel in kernels:
        tensor = next(iter(kernel.signature.tensors), None)
        if tensor is not None:
            found.setdefault(str(tensor.dtype), set()).add("any number of" if kernel.any_rank else str(tensor.ndim))
    return "; ".join(f"{dtype} of {', '.join(sorted(ranks))} axes" for dtype, ranks in found.items())
