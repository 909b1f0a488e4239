"""Check that kernels access no memory outside their arrays."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import signal
from collections.abc import Callable

import numpy as np

from pykernels.call.arrays import KernelCall
from pykernels.call.steps import Step
from pykernels.load.samples import Sample
from pykernels.tools.check.children import run_child
from pykernels.tools.check.execution import Refused
from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.search import Subject, search
from pykernels.tools.check.values import Kind

# Each forks a process.
_EXAMPLES = 20
_PAGE = mmap.PAGESIZE
_CANARY = 0xCA
_libc = ctypes.CDLL(None, use_errno=True)


def check(subject: Subject) -> str:
    """Run every kernel on arrays next to protected memory, in a process that may crash."""

    def judge(sample: Sample) -> None:
        try:
            steps = list(subject.steps(sample))
        except Refused as error:
            # NumPy raised this for an index, not the kernel itself.
            if isinstance(error.__cause__, IndexError) and not error.is_deliberate:
                raise Wrong(str(error)) from error
            raise
        _check_steps(subject, steps)

    return f"{search(subject, judge, subject.forms, [Kind.OWN], examples=_EXAMPLES)} calls"


def _check_steps(subject: Subject, steps: list[Step]) -> None:
    done = run_child(lambda report: _touch(subject, steps, report))
    if done.code == 0:
        return
    activity = done.last or steps[0].op.name
    if -done.code in (signal.SIGSEGV, signal.SIGBUS):
        raise Wrong(f"{activity} of an array, where it crashes")
    raise Wrong(activity if done.code == 1 else f"{activity} of an array; the process {done.how}")


def _touch(subject: Subject, steps: list[Step], report: Callable[[str], None]) -> None:
    for step, (at_end, side) in itertools.product(steps, ((True, "the end"), (False, "the beginning"))):
        inputs = [[GuardedArray(array, at_end=at_end) for array in group] for group in step.inputs]
        outputs = [[GuardedArray(array, at_end=at_end) for array in group] for group in step.outputs]
        call = KernelCall(
            step.op,
            subject.module.kernel_id(step.op.name),
            [[each.array for each in group] for group in inputs],
            [[each.array for each in group] for group in outputs],
            step.attributes,
            is_train=step.is_train,
        )
        report(f"{step.op.name}: the kernel reads or writes past {side}")
        call.run()
        for argument, group in zip((*step.op.inputs, *step.op.outputs), (*inputs, *outputs)):
            if not all(each.is_intact() for each in group):
                where = "before the beginning" if at_end else "past the end"
                raise Wrong(f"{step.op.name}: the kernel writes {where} of {argument.name}")


class GuardedArray:
    """A copy of a C-contiguous array between two protected pages, as its attribute `array`.

    It ends at the page behind it if `at_end`; otherwise it begins at the page before it.
    """

    def __init__(self, source: np.ndarray, *, at_end: bool) -> None:
        inner = max(1, -(-source.nbytes // _PAGE)) * _PAGE
        self._memory = mmap.mmap(-1, inner + 2 * _PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        for guard in (base, base + _PAGE + inner):
            if _libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(_PAGE), ctypes.c_int(0)):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        ctypes.memset(base + _PAGE, _CANARY, inner)
        begin = inner - source.nbytes if at_end else 0
        # np.frombuffer would refuse an empty buffer.
        buffer: np.ndarray = np.ndarray(inner, np.uint8, self._memory, _PAGE)
        self._around = [buffer[:begin], buffer[begin + source.nbytes :]]
        self.array: np.ndarray = np.ndarray(source.shape, source.dtype, self._memory, _PAGE + begin)
        self.array[...] = source

    def is_intact(self) -> bool:
        """Return whether the bytes before and behind the array are unchanged."""
        return all((part == _CANARY).all() for part in self._around)
