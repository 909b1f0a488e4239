"""``python -m pykernels describe OP``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pykernels.base.errors import PykernelsError
from pykernels.load.module import OpModule
from pykernels.tools.commands import arguments
from pykernels.tools.commands.messages import complain

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("describe", help="show all there is to know of an op", description=_run.__doc__)
    arguments.add_ops(parser, required=True)
    parser.add_argument("--quick", action="store_true", help="do not try the op in the installed frameworks")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Show the schema of an op, its shapes, dtypes and gradient, and in which frameworks it is available."""
    failed = False
    for module in arguments.find_modules(options.ops):
        try:
            print(f"{module.name}: {_shorter(module.path)}")
            for heading, text in (*_told(module), *_frameworks(module, options.quick)):
                print(f"    {heading:<12}{text}")
        except PykernelsError as error:
            failed = True
            complain(f"{module.name}: {error}")
    return 1 if failed else 0


def _told(module: OpModule) -> Iterator[tuple[str, str]]:
    from pykernels.tools.description import describe

    for heading, text in describe(module):
        yield heading, text.replace(f"{Path.cwd()}/", "")


def _frameworks(module: OpModule, is_quick: bool) -> Iterator[tuple[str, str]]:
    """Each framework with what comes of the op in it."""
    from pykernels.base.frameworks import FRAMEWORKS
    from pykernels.frameworks.installed import find_installed
    from pykernels.tools.trial import try_op

    found = [find_installed(package) for package in FRAMEWORKS]
    with ThreadPoolExecutor() as pool:
        tried = [
            pool.submit(try_op, each.package, module.path) if each.version and not is_quick else None for each in found
        ]
        heading = "frameworks"
        for each, trial in zip(found, tried):
            if each.version is None:
                said = each.note
            elif trial is None:
                said = f"installed, {each.version}" + (f": {each.note}" if each.note else "")
            elif trial.result().error:
                said = f"no, with {each.version}: {trial.result().error}"
            else:
                said = "; ".join([f"yes, with {each.version}", *trial.result().warnings])
            yield heading, f"{each.title}: {said}"
            heading = ""


def _shorter(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
