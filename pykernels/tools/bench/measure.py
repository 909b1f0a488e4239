"""The process that measures one op: reads a `Request` from its argument, and writes a line of JSON for each row.

A process of its own, because the number of threads of most libraries is settled when they are loaded, and because a
kernel that crashes or takes for ever ends nothing else.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.base.errors import PykernelsError
from pykernels.call.steps import Step, forward_step, gradient_steps
from pykernels.frameworks import timing
from pykernels.load.module import OpModule
from pykernels.load.samples import sample
from pykernels.tools.bench import built_in

__all__ = ["COPY", "KERNEL", "NUMPY", "ONE_THREAD", "Request", "Row"]

#: The environment in which every library that we know computes on one thread.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_PROBE = 1000
# What NumPy itself takes for so few elements is less, in seconds.
_LOOPS = 2e-4
KERNEL, COPY, NUMPY = "kernel", "copy", "NumPy"


@dataclass(frozen=True)
class Request:
    """What to measure; `limit` is how long one kernel may take at one size, in seconds, before the process is ended."""

    folder: str
    sizes: tuple[int, ...]
    dtype: str
    shapes: dict[str, tuple[int, ...]]
    attributes: dict[str, str]
    rounds: int
    limit: int


@dataclass(frozen=True)
class Row:
    """What was measured of one kernel at one size.

    Attributes
    ----------
    op, function : str
        Such as ``sigmoid`` and ``forward``.
    dtype : str
    elements : int
        Those of the largest array.
    nbytes : int
        The bytes of all arrays.
    seconds : dict
        What a call takes, by what was called: `KERNEL`, `COPY`, `NUMPY`, or the name of a framework.
    """

    op: str
    function: str
    dtype: str
    elements: int
    nbytes: int
    seconds: dict[str, float]


def main(request: Request) -> Iterator[Row]:
    """Measure an op; sizes that are smaller come first.

    Raises
    ------
    PykernelsError
        The op is wrong, or its arguments are.
    """
    folder = Path(request.folder)
    module = OpModule(folder.name, folder).py_api().cpp_def().py_kernel()
    dtype = np.dtype(request.dtype)
    # Of each kernel, the seconds an element that plain NumPy takes where it is a loop of Python's.
    slow: dict[str, float] = {}
    # A small size tells whether that can be waited for at a large one.
    probes = {_PROBE} - set(request.sizes) if max(request.sizes) > _PROBE and not request.shapes else set()
    for elements in sorted({*request.sizes, *probes}):
        arguments = sample(module, elements, dtype, shapes=request.shapes, attributes=request.attributes)
        signal.alarm(0)  # what is built takes its time
        forward = forward_step(module, arguments)
        gradient = gradient_steps(module, forward)
        signal.alarm(request.limit)
        forward.call.run()
        frameworks = built_in.timers(module.name, forward)
        own = {name: pair[0] for name, pair in frameworks.items()}
        steps: list[tuple[Step, dict[str, timing.Timer]]] = [(forward, own)]
        # A framework's gradient is that of all of ours together.
        alone = len(gradient) == 1
        steps += [(s, {name: b for name, (_, b) in frameworks.items() if b and alone}) for s in gradient]
        for step, others in steps:
            signal.alarm(request.limit)
            step.call.run()
            timers = {KERNEL: timing.time_kernel(step.call), COPY: timing.time_copy(step.nbytes), **others}
            if slow.get(step.name, 0) * step.elements < timing.SLOW:
                timers[NUMPY] = timing.time_python(step.call.plain())
            seconds = timing.medians(timers, 1 if elements in probes else request.rounds)
            if seconds.get(NUMPY, 0) > _LOOPS:
                slow[step.name] = seconds[NUMPY] / max(1, step.elements)
            if elements not in probes:
                yield Row(module.name, step.name, request.dtype, step.elements, step.nbytes, seconds)


def _report(request: Request) -> None:
    # Whatever prints, does not print between the rows.
    with os.fdopen(os.dup(1), "w", buffering=1) as rows:
        os.dup2(2, 1)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        try:
            for row in main(request):
                print(json.dumps(dataclasses.asdict(row)), file=rows)
        except PykernelsError as error:
            print(json.dumps({"error": str(error)}), file=rows)


def _request(text: str) -> Request:
    values: dict[str, Any] = json.loads(text)
    values["shapes"] = {name: tuple(shape) for name, shape in values["shapes"].items()}
    return Request(**values)


if __name__ == "__main__":
    _report(_request(sys.argv[1]))
