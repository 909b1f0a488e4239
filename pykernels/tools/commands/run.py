"""``python -m pykernels run SCRIPT``."""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.machinery
import importlib.util
import io
import os
import runpy
import shutil
import subprocess
import sys
import types
from typing import Any

from pykernels.base.errors import BuildError, CacheError, LoadError
from pykernels.base.importing import after_import
from pykernels.tools.commands.messages import complain
from pykernels.vendors.programs import provide_program
from pykernels.vendors.providing import provide

__all__ = ["add"]

#: The frameworks whose lost names scripts get, and the module that adds them.
_COMPAT = {"oneflow": "pykernels.vendors.oneflow_legacy"}
#: The packages that scripts get where they are not installed, and the package that stands in for each.
_PROVIDED = {
    "poprt": "pykernels.vendors.poprt",
    "popxl": "pykernels.vendors.popxl",
    "torch_neuronx": "pykernels.vendors.neuron",
}

#: The programs that scripts find where they are not installed, and the module that stands in for each.
_PROGRAMS = {"poprt": "poprt.cli"}


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="run a script of an older framework, or of a vendor's guide",
        description=_run.__doc__,
        usage="%(prog)s [-h] (SCRIPT | PROGRAM | -m MODULE) [ARGUMENT ...]",
    )
    # Whatever follows the script or the module is its own, options too.
    parser.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, default=[], metavar="MODULE", help="run a module, as python -m"
    )
    parser.add_argument(
        "script",
        nargs=argparse.REMAINDER,
        metavar="SCRIPT",
        help="the script, or a program; what follows is what it is called with",
    )
    parser.set_defaults(run=lambda options: _run(options, parser))


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Run a script or a module as python does, with the names that its framework has dropped, or a program."""
    arguments = [*options.module, *options.script]
    if not arguments:
        parser.error("a script is missing, or -m and a module")
    for package, module in _COMPAT.items():
        after_import(package, functools.partial(importlib.import_module, module))
    for package, module in _PROVIDED.items():
        provide(package, module)
    for name, module in _PROGRAMS.items():
        provide_program(name, module)
    if options.module:
        _set_first_path(os.getcwd())
        _check_hidden(arguments[0])
    elif not os.path.isfile(arguments[0]):
        return _run_program(arguments)
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


def _run_program(arguments: list[str]) -> int:
    if shutil.which(arguments[0]) is None:
        raise LoadError(f"there is no script {arguments[0]}, nor a program of that name")
    code = subprocess.call(arguments, env={**os.environ, **_compiler_environment(arguments[0])})
    return 128 - code if code < 0 else code  # of a signal, as a shell has it


def _compiler_environment(program: str) -> dict[str, str]:
    """The variables by which compilers that a program calls find what pykernels provides: PopART."""
    if program in _PROGRAMS:
        return {}
    from pykernels.vendors.popart import build  # not above: few scripts need it

    try:
        return build.environment()
    except (BuildError, CacheError) as error:
        complain(f"{program} is run without PopART's headers and library: {error}")
        return {}


def _run_module(name: str) -> None:
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _check_hidden(name: str) -> None:
    """Tell of a package of the user's, or an installed one, that lacks the module and hides the provided package."""
    package = name.partition(".")[0]
    if package not in _PROVIDED:
        return
    found = importlib.util.find_spec(package)
    ours = importlib.util.find_spec(_PROVIDED[package])
    if found and ours and found.origin != ours.origin and importlib.util.find_spec(name) is None:
        raise LoadError(
            f"there is no module {name}: {package} is {found.origin}, which hides what pykernels provides under this "
            f"name. Rename it, or run this in another directory"
        )


def _set_first_path(directory: str) -> None:
    # Where python looks in no such directory, it has put none there that could be replaced.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path[0] = directory


def _frames_of_program(error: BaseException) -> types.TracebackType | None:
    """Where the exception comes from, without the frames that are not the program's."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_globals.get("__name__") in (__name__, runpy.__name__):
        frames = frames.tb_next
    return frames
