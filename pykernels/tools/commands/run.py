"""Implement ``python -m pykernels run SCRIPT``."""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.machinery
import importlib.util
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
import types
from typing import Any

from pykernels.base.errors import BuildError, CacheError, LoadError
from pykernels.base.importing import after_import
from pykernels.tools.commands.output import complain
from pykernels.vendors.providing import provide, provide_program

#: The frameworks whose removed names are restored for scripts, and the module that adds them.
_COMPAT = {"oneflow": "pykernels.vendors.oneflow_legacy"}
#: The packages that scripts can import even if they are not installed, and our package in place of each.
_PROVIDED = {
    "poprt": "pykernels.vendors.poprt",
    "popxl": "pykernels.vendors.popxl",
    "torch_neuronx": "pykernels.vendors.neuron",
    "torch_xla": "pykernels.vendors.neuron.torch_xla",
}

#: The programs that scripts can run even if they are not installed, and our module in place of each.
_PROGRAMS = {"poprt": "poprt.cli"}
# Commands that compile, or may do so.
_COMPILERS = re.compile(r"\b(?:make|cmake|ninja|cc|gcc|clang|bash)\b|[cg]\+\+|\.sh\b")
_PYTHON = re.compile(r"python[\d.]*")


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="run a script for an older framework, or from a vendor's guide",
        description=_run.__doc__,
        usage="%(prog)s [-h] (SCRIPT | PROGRAM | -m MODULE) [ARGUMENT ...]",
    )
    # Everything after the script or module is an argument of its own, including options.
    parser.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, default=[], metavar="MODULE", help="run a module, like python -m"
    )
    parser.add_argument(
        "script",
        nargs=argparse.REMAINDER,
        metavar="SCRIPT",
        help="the script or program, followed by its arguments",
    )
    parser.set_defaults(run=lambda options: _run(options, parser))


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Run a script or module like python, or a program, with the names that frameworks have removed."""
    arguments = [*options.module, *options.script]
    if not arguments:
        parser.error("give a script, or a module with -m")
    importlib.import_module("pykernels.compat.mxnet")  # here, since it changes how MXNet is imported
    for package, module in _COMPAT.items():
        after_import(package, functools.partial(importlib.import_module, module))
    for package, module in _PROVIDED.items():
        provide(package, module)
    for name, module in _PROGRAMS.items():
        provide_program(name, module)
    if options.module:
        _set_first_path(os.getcwd())
        _check_hidden(arguments[0])
    elif not _is_script(arguments[0]):
        return _run_program(arguments)
    sys.addaudithook(_CompilerHook())
    sys.argv = arguments
    try:
        (_run_module if options.module else _run_script)(arguments[0])
    except (Exception, KeyboardInterrupt) as error:
        error.with_traceback(_frames_of_program(error))
        sys.excepthook(type(error), error, error.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _run_script(script: str) -> None:
    _set_first_path(os.path.dirname(os.path.realpath(script)))
    main = types.ModuleType("__main__")
    main.__file__ = os.path.abspath(script)
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", main.__file__)
    vars(main)["__cached__"] = None
    sys.modules["__main__"] = main
    with io.open_code(main.__file__) as file:
        code = compile(file.read(), main.__file__, "exec", dont_inherit=True)
    exec(code, vars(main))


def _is_script(path: str) -> bool:
    """Whether a path is a file of Python code: neither machine code nor a script for another interpreter."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        first = file.readline(256)
    return not first.startswith(b"\x7fELF") and (not first.startswith(b"#!") or b"python" in first)


def _run_program(arguments: list[str]) -> int:
    if shutil.which(arguments[0]) is None:
        raise LoadError(f"{arguments[0]} is neither a script nor a program")
    program, *rest = arguments
    if _PYTHON.fullmatch(os.path.basename(program)) and rest and (rest[0] == "-m" or _is_script(rest[0])):
        arguments = [program, "-m", "pykernels", "run", *rest]
    code = subprocess.call(arguments, env={**os.environ, **_compiler_environment(arguments[0])})
    return 128 - code if code < 0 else code  # shells encode signals in this way


def _compiler_environment(program: str) -> dict[str, str]:
    """Return the variables by which compilers that a program or a command calls find pykernels' PopART."""
    if program in _PROGRAMS:
        return {}
    from pykernels.vendors.popart import build  # imported here: few scripts need it

    try:
        return build.environment()
    except (BuildError, CacheError) as error:
        complain(f"{program} runs without PopART's headers and library: {error}")
        return {}


class _CompilerHook:
    """An audit hook that lets compilers which a script calls find pykernels' PopART, from the first one on."""

    def __init__(self) -> None:
        self._is_done = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Set the variables if the event is the start of a compiler, or of a tool that may call one."""
        if self._is_done or event not in ("os.system", "subprocess.Popen"):
            return
        # The arguments of subprocess.Popen are the program, its arguments, the folder and the environment.
        command, environment = (arguments[0], None) if event == "os.system" else (arguments[1], arguments[3])
        words = [command] if isinstance(command, (str, bytes, os.PathLike)) else command
        if environment is None and _COMPILERS.search(" ".join(map(os.fsdecode, words))):
            self._is_done = True  # before a compiler of our own is called
            os.environ.update(_compiler_environment(" ".join(map(os.fsdecode, words))))


def _run_module(name: str) -> None:
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _check_hidden(name: str) -> None:
    """Raise an error if a package of the user hides the package that pykernels provides and lacks the module."""
    package = name.partition(".")[0]
    if package not in _PROVIDED:
        return
    found = importlib.util.find_spec(package)
    ours = importlib.util.find_spec(_PROVIDED[package])
    if found and ours and found.origin != ours.origin and importlib.util.find_spec(name) is None:
        raise LoadError(
            f"module {name} does not exist: {found.origin} hides the package {package} that pykernels provides. "
            f"Rename it, or run this in another directory"
        )


def _set_first_path(directory: str) -> None:
    # In these modes python puts no directory at the front of the path.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path[0] = directory


def _frames_of_program(error: BaseException) -> types.TracebackType | None:
    """Return the traceback of an exception without the frames above the program."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_globals.get("__name__") in (__name__, runpy.__name__):
        frames = frames.tb_next
    return frames
