"""``python -m pykernels build``."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykernels.base import progress
from pykernels.base.errors import BuildError, LoadError, PykernelsError
from pykernels.frameworks.registrar_libraries import (
    REGISTRARS,
    RegistrarLibrary,
    build_library,
    installed_registrars,
)
from pykernels.tools.commands import arguments
from pykernels.tools.commands.processes import in_processes

if TYPE_CHECKING:
    from pykernels.load.module import OpModule
    from pykernels.tools.ship.kernels import LibraryKernel, Wanted

__all__ = ["add"]

# Every x86-64 processor that was made since 2015 or so is of this level.
_WHEEL_CPU = "x86-64-v3"


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("build", help="make a library or a wheel of compiled ops", description=_run.__doc__)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--onnx", action="store_true", help="of custom ops for ONNX Runtime")
    kind.add_argument("--c", action="store_true", help="of functions for C, with a header beside it")
    kind.add_argument("--wheel", action="store_true", help="a wheel for pip, of the package in the folder named (here)")
    arguments.add_ops(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the library to write; the folder for a wheel (dist)"
    )
    parser.add_argument(
        "--cpu", help="the processor to compile for, such as x86-64-v3 (this one; for a wheel, x86-64-v3)"
    )
    parser.add_argument(
        "--dtype",
        dest="dtypes",
        type=arguments.dtype,
        nargs="+",
        action="extend",
        metavar="DTYPE",
        help="the dtypes of inputs (float16, float32 and float64, as far as the op takes them)",
    )
    arguments.add_inputs(parser)
    parser.add_argument(
        "--frameworks",
        nargs="*",
        choices=REGISTRARS,
        metavar="FRAMEWORK",
        help=f"for which a wheel carries what enters ops into them, of {', '.join(REGISTRARS)} (those installed; none "
        "if none is named)",
    )
    parser.add_argument(
        "--registrars-of",
        type=Path,
        metavar="WHEEL",
        help="one that was built with other frameworks installed: what it carries for these goes in, too",
    )
    parser.add_argument("--domain", help="of the ONNX nodes (what the op folder chooses, or pykernels)")
    parser.add_argument("--no-gradients", dest="gradients", action="store_false", help="leave the ops of gradients out")
    arguments.add_jobs(parser, "processes compile")
    parser.set_defaults(run=lambda options: _run(options, parser))


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Make a library that runs ops without Python, numba or pykernels; or a wheel whose ops need no compiler."""
    if options.wheel:
        return _build_wheel(options)
    if not options.ops:
        parser.error("an op is missing: a name, an op folder or a folder of op folders")
    if options.output is None:
        parser.error("-o is missing: the library to write")
    from pykernels.build import processor
    from pykernels.tools.ship.assembly import check_definition
    from pykernels.tools.ship.c_library import build_c_library
    from pykernels.tools.ship.c_source import PREFIX
    from pykernels.tools.ship.kernels import Wanted, compile_kernels
    from pykernels.tools.ship.onnx_library import build_onnx_library

    modules = arguments.find_modules(options.ops)
    for module in modules:
        check_definition(module)
    dtypes = [str(dtype) for dtype in options.dtypes or ()]
    wanted = Wanted(dtypes, options.shapes, options.attributes, options.gradients)
    cpu = options.cpu or processor.NATIVE
    calls = _calls(modules, wanted, cpu, options.jobs)
    reasons: list[str] = []
    with processor.compiling_for(cpu), progress.bar("compiling", len(calls) + len(modules) + 1) as bar:
        list(in_processes(calls, options.jobs, bar))
        kernels = {}
        for module in modules:
            bar.begin(f"compiling {module.name}")
            kernels[module], left_out = compile_kernels(module, wanted)
            reasons += left_out
            bar.advance()
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
        print(f"{name}: {_served(kernel for kernel in flat if kernel.op is op.op)}")
    return 0


def _build_wheel(options: argparse.Namespace) -> int:
    from pykernels.tools.ship.wheel import carried_registrars

    with tempfile.TemporaryDirectory(prefix="pykernels-registrars-") as folder:
        others = carried_registrars(options.registrars_of, Path(folder)) if options.registrars_of else []
        return _build_wheel_with(others, options)


def _build_wheel_with(others: Sequence[RegistrarLibrary], options: argparse.Namespace) -> int:
    from pykernels.build import linking, processor
    from pykernels.tools.ship.kernels import Wanted, compile_kernels
    from pykernels.tools.ship.wheel import build_wheel, find_project

    project = find_project(Path(*options.ops or ["."]).absolute())
    modules = arguments.find_modules([str(collection) for collection in project.collections])
    dtypes = [str(dtype) for dtype in options.dtypes or ()]
    wanted = Wanted(dtypes, options.shapes, options.attributes, options.gradients, linking.LOADABLE)
    cpu = options.cpu or (_WHEEL_CPU if _WHEEL_CPU in processor.known() else processor.NATIVE)
    frameworks = list(dict.fromkeys(installed_registrars() if options.frameworks is None else options.frameworks))
    kernels: dict[OpModule, list[LibraryKernel]] = {}
    calls = _calls(modules, wanted, cpu, options.jobs, frameworks)
    reasons: list[str] = []
    with processor.compiling_for(cpu), progress.bar("compiling", len(calls) + len(modules) + 2) as bar:
        list(in_processes(calls, options.jobs, bar))
        for module in modules:
            bar.begin(f"compiling {module.name}")
            try:
                kernels[module], left_out = compile_kernels(module, wanted)
            except BuildError as error:
                kernels[module], left_out = [], [str(error)]
            reasons += [f"not compiled: {reason}" for reason in left_out]
            bar.advance()
        bar.begin("registrars")
        registrars, left_out = _registrars(frameworks, is_chosen=options.frameworks is not None)
        made = [(library.framework, library.made_for) for library in registrars]
        registrars += [library for library in others if (library.framework, library.made_for) not in made]
        reasons += left_out
        bar.advance()
        bar.begin("packing the wheel")
        wheel = build_wheel(project, kernels, registrars, options.output or project.root / "dist", cpu=cpu)
    for reason in reasons:
        print(f"pykernels: {reason}", file=sys.stderr)
    for module, group in kernels.items():
        for op in module.definition.ops.values():
            served = _served(kernel for kernel in group if kernel.op is op)
            print(f"{op.name}: {served or 'as it is'}")
    for library in registrars:
        print(f"registrar for {library}: {_size(library.path)}")
    print(f"wrote {wheel}: {_size(wheel)}")
    return 0


def _registrars(frameworks: Sequence[str], *, is_chosen: bool) -> tuple[list[RegistrarLibrary], list[str]]:
    """The registrars for frameworks; if nobody has named these, as far as they can be built, and why others cannot."""
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


def _calls(
    modules: Sequence[OpModule], wanted: Wanted, cpu: str, jobs: int, frameworks: Sequence[str] = ()
) -> list[Callable[[], None]]:
    """What fills the cache with all that will be needed, in several processes; nothing if that is not worth it."""
    from pykernels.tools.ship.kernels import DEFAULT_DTYPES

    calls: list[Callable[[], None]] = [
        functools.partial(_fill, module.path, dataclasses.replace(wanted, dtypes=[dtype]), cpu)
        for module in modules
        for dtype in wanted.dtypes or DEFAULT_DTYPES
    ]
    # What takes longest goes first.
    calls = [*(functools.partial(_fill_registrar, framework) for framework in frameworks), *calls]
    return calls if min(jobs, len(calls)) > 1 else []


def _fill(folder: Path, wanted: Wanted, cpu: str) -> None:
    from pykernels.build import processor
    from pykernels.load.module import OpModule
    from pykernels.tools.ship.kernels import compile_kernels

    # Whatever is wrong shows again where it is reported.
    with contextlib.suppress(PykernelsError), processor.compiling_for(cpu):
        compile_kernels(OpModule(folder.name, folder).py_api().cpp_def().py_kernel(), wanted)


def _fill_registrar(framework: str) -> None:
    with contextlib.suppress(PykernelsError):
        build_library(framework)


def _served(kernels: Iterable[LibraryKernel]) -> str:
    """For which dtypes and numbers of axes an op has kernels, by its first input."""
    found: dict[str, set[str]] = {}
    for kernel in kernels:
        tensor = next(iter(kernel.signature.tensors), None)
        if tensor is not None:
            found.setdefault(str(tensor.dtype), set()).add("any number of" if kernel.any_rank else str(tensor.ndim))
    return "; ".join(f"{dtype} of {', '.join(sorted(ranks))} axes" for dtype, ranks in found.items())
