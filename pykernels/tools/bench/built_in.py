"""The frameworks' own ops: what to compare with, where there is such a thing.

The module `bench` of a framework's package is imported where that framework is installed. Its ``OPS`` has, for ops of
ours, how to call the framework's own, and its ``timers`` times it on the arrays of a step.
"""

from __future__ import annotations

import functools
import sys

from pykernels.base.frameworks import FRAMEWORKS
from pykernels.call.steps import Step
from pykernels.frameworks.installed import is_usable
from pykernels.frameworks.timing import Timer

__all__ = ["timers"]


def timers(op_name: str, forward: Step) -> dict[str, tuple[Timer, Timer | None]]:
    """Timers of the own op of every installed framework that has one: its forward pass, and its gradient.

    Imports these frameworks. One whose op refuses the arguments is left out, and that is told.
    """
    arrays = [array for group in forward.inputs for array in group]
    attributes = {name: value for name, value in forward.attributes.items() if name != "device_sub_tag"}
    found = {}
    for package, record in FRAMEWORKS.items():
        if not record.has("bench") or not is_usable(package):
            continue
        framework = record.module("bench")
        if op_name not in framework.OPS:
            continue
        try:
            pair = framework.timers(framework.OPS[op_name], forward.op, arrays, attributes)
            for timer in pair:
                if timer is not None:
                    timer(1)
        except Exception as error:  # of whatever kind a framework has
            lines = str(error).strip().splitlines() or [type(error).__name__]
            # After OneFlow's places comes what happened there.
            said = next((line for line in lines if "Error:" in line), lines[-1] if "File" in lines[0] else lines[0])
            _tell(f"{record.title}'s own {op_name} is left out: {said.strip()}")
        else:
            found[record.title] = pair
    return found


@functools.cache
def _tell(text: str) -> None:
    """Once, not for every size."""
    print(f"pykernels: {text}", file=sys.stderr)
