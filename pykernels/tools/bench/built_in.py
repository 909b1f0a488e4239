"""Time the frameworks' own ops, for comparison with ours.

The module `bench` of a framework's package is imported if the framework is installed. Its ``OPS`` says how to call the
framework's counterparts of our ops, and its ``timers`` times one on the arrays of a step.
"""

from __future__ import annotations

import functools
import sys

from pykernels.base.frameworks import FRAMEWORKS
from pykernels.call.steps import Step
from pykernels.frameworks.installed import is_usable
from pykernels.frameworks.timing import Timer


def timers(op_name: str, forward: Step) -> dict[str, tuple[Timer, Timer | None]]:
    """Return timers for the own op of every installed framework that has one: its forward pass, and its gradient.

    This imports these frameworks. A framework whose op refuses the arguments is left out, with a message.
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
        except Exception as error:  # frameworks raise errors of any class
            lines = str(error).strip().splitlines() or [type(error).__name__]
            # In OneFlow's errors the message follows source locations.
            message = next((line for line in lines if "Error:" in line), lines[-1] if "File" in lines[0] else lines[0])
            _report(f"{record.title}'s own {op_name} is left out: {message.strip()}")
        else:
            found[record.title] = pair
    return found


@functools.cache
def _report(message: str) -> None:
    """Print a message once, not for every size."""
    print(f"pykernels: {message}", file=sys.stderr)
