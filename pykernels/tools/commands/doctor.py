"""``python -m pykernels doctor``."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("doctor", help="try what ops need of this machine", description=_run.__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON in place of lines")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Try the interpreter, the compilers, the cache and the frameworks, and tell what mends that which fails."""
    from rich.console import Console
    from rich.text import Text

    from pykernels.tools.doctor import ABSENT, FAILS, NOTE, WORKS, examine

    styles = {WORKS: "green", NOTE: "yellow", ABSENT: "dim", FAILS: "bold red"}
    console = Console(soft_wrap=True)
    findings = []
    for finding in examine():
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
