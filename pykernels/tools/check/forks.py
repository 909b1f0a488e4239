"""Check that kernels work in forked processes, even if the parent forks during a call."""

from __future__ import annotations

import copy
import threading

from pykernels.call.steps import Step
from pykernels.load.samples import Sample
from pykernels.tools.check.children import run_child
from pykernels.tools.check.execution import names, run_compiled
from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.search import Subject, search
from pykernels.tools.check.values import Kind

_FORKS, _LIMIT = 5, 10
_FORMS = 2


def check(subject: Subject) -> str:
    """Fork while a thread calls the kernel, and compare the results in the child with those in the parent."""

    def judge(sample: Sample) -> None:
        # The thread gets its own arrays, because it may change states.
        for step, busy in zip(subject.steps(sample), subject.steps(copy.deepcopy(sample))):
            _fork(step, busy)

    forms = sorted((form for form in subject.forms if form.size), key=lambda form: not form.is_sample)[:_FORMS]
    return f"{search(subject, judge, forms, [Kind.OWN], examples=0)} calls, {_FORKS} forks each"


def _fork(step: Step, busy: Step) -> None:
    expected = run_compiled(step)
    is_over = threading.Event()

    def keep_calling() -> None:
        while not is_over.is_set():
            run_compiled(busy)

    def call_again(_: object) -> None:
        for name, found, wanted in zip(names(step), run_compiled(step), expected):
            if found.tobytes() != wanted.tobytes():
                raise Wrong(f"computes other numbers for {name} than in the parent")

    caller = threading.Thread(target=keep_calling, daemon=True)
    caller.start()
    try:
        for _ in range(_FORKS):
            done = run_child(call_again, _LIMIT)
            if done.code:
                raise Wrong(f"{step.op.name}: in a forked process, the kernel {done.last or done.how}")
    finally:
        is_over.set()
        caller.join(_LIMIT)
