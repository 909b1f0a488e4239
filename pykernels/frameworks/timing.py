"""Time functions in turn, round after round, since machines are noisy."""

from __future__ import annotations

import ctypes
import functools
import math
import statistics
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.base.errors import KernelError
from pykernels.base.paths import CPP_DEFS
from pykernels.build import toolchain
from pykernels.call.arrays import ArrayCall
from pykernels.define.definition import OpDef

#: Returns the seconds that a number of calls take.
Timer = Callable[[int], float]
#: A call that takes longer, in seconds, is timed once.
SLOW = 1.0
#: The shortest time to measure, in seconds, so that the clock's own cost does not matter.
_AT_LEAST = 0.005


def medians(timers: Mapping[str, Timer], rounds: int) -> dict[str, float]:
    """Return the median time of a call in seconds, by name, over `rounds` rounds that each time all of them."""
    calls, times = {}, {}
    for name, timer in timers.items():
        calls[name], once = _calibrate(timer)
        times[name] = [once] if once > SLOW else []
    for _ in range(rounds):
        for name, timer in timers.items():
            if not (times[name] and times[name][0] > SLOW):
                times[name].append(timer(calls[name]) / calls[name])
    return {name: statistics.median(each) for name, each in times.items()}


def time_kernel(call: ArrayCall) -> Timer:
    """Return a timer of calls of the kernel's ABI function from C++.

    Raises
    ------
    KernelError
        During timing, if the kernel fails.
    """
    run = _library().pk_time_kernel

    def timer(calls: int) -> float:
        seconds = run(
            ctypes.byref(call.kernel.struct),
            call.data,
            call.dims,
            call.scalars,
            ctypes.c_int64(call.elements),
            ctypes.c_int64(calls),
        )
        if seconds < 0:
            call.run()  # raises the error
            raise KernelError(f"op {call.kernel.op_name!r} fails on and off on the same inputs")
        return float(seconds)

    return timer


def time_copy(nbytes: int) -> Timer:
    """Return a timer of copies that move `nbytes` in all: half are read, half are written."""
    run, half = _library().pk_time_copy, max(1, nbytes // 2)
    # Write to the memory now, so that the first copy has no page faults.
    to, source = np.ones(half, np.uint8), np.ones(half, np.uint8)

    def timer(calls: int) -> float:
        addresses = (ctypes.c_void_p(array.ctypes.data) for array in (to, source))
        return float(run(*addresses, ctypes.c_size_t(half), ctypes.c_int64(calls)))

    return timer


def time_python(function: Callable[[], Any]) -> Timer:
    """Return a timer of calls of a Python function."""
    timed = timeit.Timer(function)

    def timer(calls: int) -> float:
        with np.errstate(all="ignore"):
            return timed.timeit(calls)

    return timer


def time_pending(function: Callable[[], Any], wait: Callable[[], Any]) -> Timer:
    """Return a timer of calls of a function that returns before its work is done; `wait` waits for the work."""

    def timer(calls: int) -> float:
        wait()
        start = time.perf_counter()
        for _ in range(calls):
            function()
        wait()
        return time.perf_counter() - start

    return timer


def gradient_call(
    library: Any, function: Callable[..., Any], op: OpDef, inputs: Sequence[Any], attributes: Mapping[str, Any]
) -> Callable[[], Any] | None:
    """Return a call of the gradient of `function` on tensors of PyTorch or OneFlow; None if `op` has no gradient."""
    leaves = [
        tensor.clone().requires_grad_() if _has_gradients(tensor.dtype) and not argument.mutable else tensor
        for tensor, argument in zip(inputs, op.inputs)
    ]
    wanted = [tensor for tensor in leaves if tensor.requires_grad]
    if op.gradient is None or not wanted:
        return None
    result = function(library, *leaves, **attributes)
    head = library.ones_like(result)
    return lambda: library.autograd.grad(result, wanted, head, retain_graph=True)


def _has_gradients(dtype: Any) -> bool:
    # OneFlow has no complex tensors.
    return bool(dtype.is_floating_point or getattr(dtype, "is_complex", False))


def _calibrate(timer: Timer) -> tuple[int, float]:
    """Return how many calls take long enough, and about how many seconds one takes."""
    seconds = timer(1)
    if seconds > SLOW:
        return 1, seconds
    calls, seconds = 1, timer(1)  # again, since the first call warms up caches and allocators
    while seconds < _AT_LEAST / 10:
        calls *= 10
        seconds = timer(calls)
    once = seconds / calls
    return max(1, math.ceil(_AT_LEAST / once)), once


@functools.lru_cache(maxsize=1)
def _library() -> Any:
    path = toolchain.build_shared(
        "timing", [CPP_DEFS / "runtime" / "timing.cpp"], flags=("-O2",), include=(CPP_DEFS / "include",)
    )
    library = ctypes.CDLL(str(path))
    library.pk_time_kernel.restype = library.pk_time_copy.restype = ctypes.c_double
    return library
