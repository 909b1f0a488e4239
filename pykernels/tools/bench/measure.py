"""Measure one op in its own process, which receives a `Request` and sends each row as a message.

It has its own process because most libraries fix their number of threads when they are loaded, and because a kernel
that crashes or hangs then ends nothing else.
"""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pykernels.base import dtypes
from pykernels.base.errors import PykernelsError
from pykernels.call.steps import Step, forward_step, gradient_steps
from pykernels.frameworks import timing
from pykernels.load.module import open_folder
from pykernels.load.samples import sample
from pykernels.tools.bench import built_in
from pykernels.tools.process import receive, sending

#: The environment in which all libraries that we know compute on one thread.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_PROBE = 1000
# NumPy's own functions take less time for so few elements, in seconds.
_LOOPS = 2e-4
KERNEL, COPY, NUMPY = "kernel", "copy", "NumPy"


@dataclass(frozen=True)
class Request:
    """What to measure; a kernel that takes more than `limit` seconds at one size ends the process."""

    folder: str
    sizes: tuple[int, ...]
    dtype: str
    shapes: dict[str, tuple[int, ...]]
    attributes: dict[str, str]
    rounds: int
    limit: int


@dataclass(frozen=True)
class Row:
    """The measurements of one kernel at one size."""

    #: Such as ``sigmoid`` and ``forward``.
    op: str
    function: str
    dtype: str
    #: The elements of the largest array.
    elements: int
    #: The bytes of all arrays.
    nbytes: int
    #: The seconds per call of each competitor: `KERNEL`, `COPY`, `NUMPY`, or the name of a framework.
    seconds: dict[str, float]


def main(request: Request) -> Iterator[Row]:
    """Measure an op, smaller sizes first; raise `PykernelsError` if the op or its arguments are wrong."""
    module = open_folder(Path(request.folder))
    dtype = dtypes.find(request.dtype)
    # The seconds per element of plain NumPy, for kernels that loop in Python.
    slow: dict[str, float] = {}
    # A small size shows whether plain NumPy is fast enough to be timed at a large one.
    probes = {_PROBE} - set(request.sizes) if max(request.sizes) > _PROBE and not request.shapes else set()
    for elements in sorted({*request.sizes, *probes}):
        arguments = sample(module, elements, dtype, shapes=request.shapes, attributes=request.attributes)
        signal.alarm(0)  # building does not count
        forward = forward_step(module, arguments)
        gradient = gradient_steps(module, forward)
        signal.alarm(request.limit)
        forward.call.run()
        frameworks = built_in.timers(module.name, forward)
        own = {name: pair[0] for name, pair in frameworks.items()}
        steps: list[tuple[Step, dict[str, timing.Timer]]] = [(forward, own)]
        # A framework's gradient corresponds to all of our gradient kernels together.
        is_single = len(gradient) == 1
        steps += [(s, {name: b for name, (_, b) in frameworks.items() if b and is_single}) for s in gradient]
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


def _report(request: Request, send: Callable[[dict[str, Any]], None]) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    try:
        for row in main(request):
            send(dataclasses.asdict(row))
    except PykernelsError as error:
        send({"error": str(error)})


if __name__ == "__main__":
    with sending() as send:
        _report(receive(), send)
