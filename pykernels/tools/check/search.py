"""Search for a call of an op that shows an error, and shrink it."""

from __future__ import annotations

import contextlib
import copy
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pykernels.base.errors import KernelError, PykernelsError
from pykernels.call.steps import Step, derivative_steps, forward_step
from pykernels.define.instance import specs_of
from pykernels.frameworks.case import Case
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import Refused, run_compiled, run_function, run_plain
from pykernels.tools.check.findings import Skipped, Wrong
from pykernels.tools.check.forms import Arguments, Form, form_of, forms_of
from pykernels.tools.check.shrinking import measure, shrink
from pykernels.tools.check.values import Kind, draw_sample, sample_strategy
from pykernels.tools.process import ModuleProcess

#: Raises `Wrong` or a `PykernelsError` if a call shows an error, and `Refused` if the kernel refuses the call.
Judge = Callable[[Sample], None]

#: How long plain NumPy may take for one call, in seconds, and how many calls may take longer.
LIMIT, _TOO_LONG = 2.0, 3
#: The name of a constant in an op's API file: whether inputs may be NaN.
TAKES_NAN = "TAKES_NAN"
# The approximate numbers of elements of longer calls.
_LONG = (300, 2000)
# The parts of a message that depend on the call.
_NUMBERS = re.compile(r", and \d+ more of \d+|e[+-]\d+|nan|inf|[\d.,()\[\] -]+")
# How long to search for calls, and then to shrink one, in seconds.
_BUDGET = 20.0


@dataclass(frozen=True)
class Trial:
    """A call, and its form for frameworks."""

    sample: Sample
    case: Case

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the first floating-point array, or else of the first array."""
        found = [array.dtype for array in self.case.arrays]
        return next((dtype for dtype in found if dtype.kind in "fc"), found[0])


@dataclass
class Subject:
    """The subject of checks: an op, and the calls to try."""

    module: OpModule
    #: The only calls to try; None for calls of all kinds that the definition accepts.
    given: list[Sample] | None = None
    #: Shapes and attributes of generated calls.
    arguments: Arguments = field(default_factory=Arguments)
    #: The processes of frameworks by package, if that check runs.
    hosts: Mapping[str, ModuleProcess] = field(default_factory=dict)
    #: The calls that frameworks are trying; None before they begin.
    trials: list[Trial] | None = None
    #: How many calls hypothesis draws for each check, in addition to one of each form.
    examples: int = 60
    _too_long: int = field(default=0, init=False)

    @cached_property
    def accepted(self) -> list[Form]:
        """The forms of the given calls, or else of calls that the definition accepts."""
        if self.given is not None:
            return [form_of(self.module, each) for each in self.given]
        return forms_of(self.module, self.arguments)

    @cached_property
    def refused(self) -> dict[np.dtype, tuple[Sample, Exception]]:
        """The dtypes in which the kernel takes no call that the definition accepts: one such call, and why."""
        calls = self.given or [draw_sample(form, [Kind.OWN], 0) for form in self.accepted]
        reasons: dict[np.dtype, list[tuple[Sample, Exception]]] = {}
        taken = set()
        for form, sample in zip(self.accepted, calls):
            reason = None if form.dtype in taken else self._refusal(sample)
            if reason is None:
                taken.add(form.dtype)
            else:
                reasons.setdefault(form.dtype, []).append((sample, reason))
        return {dtype: found[0] for dtype, found in reasons.items() if dtype not in taken}

    def _refusal(self, sample: Sample) -> Exception | None:
        """Return why the kernel does not take the dtypes of a call; other checks report other errors."""
        try:
            with self.limited():
                run_function(self.module, sample)
        except (KernelError, Refused) as error:
            if isinstance(error, KernelError) or error.is_deliberate or isinstance(error.__cause__, TypeError):
                return error
        except TooLong:
            pass
        return None

    @cached_property
    def forms(self) -> list[Form]:
        """The forms in the dtypes that the kernel takes; all of them if it takes none or calls are given."""
        found = [form for form in self.accepted if form.dtype not in self.refused] if self.given is None else []
        return found or self.accepted

    @cached_property
    def long(self) -> list[Form]:
        """Forms with more elements than hypothesis can draw, for which kernels may have special code.

        The list is empty if calls are given.
        """
        if self.given is not None:
            return []
        found = []
        for elements in _LONG:
            with contextlib.suppress(PykernelsError):
                call = self.arguments.sample(self.module, elements, self.forms[0].dtype)
                found.append(form_of(self.module, call))
        return found

    def is_zeroed(self, attributes: Mapping[str, Any]) -> bool:
        """Return whether an attribute was changed to 0, whose product with infinity is NaN."""
        usual = self.forms[0].attributes
        return any(value == 0 and usual[name] != 0 for name, value in attributes.items() if type(value) is float)

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of numbers beside those that all ops take: the op's API file says whether it takes NaN."""
        return [Kind.NAN] if getattr(self.module.api, TAKES_NAN, False) else []

    def is_patient(self) -> bool:
        """Return whether generated numbers are worth trying, since the kernel does not take too long for them."""
        return self._too_long < _TOO_LONG

    @contextlib.contextmanager
    def limited(self) -> Iterator[None]:
        """Raise `TooLong` if a block takes more than `LIMIT` seconds."""

        def end(*_: Any) -> None:
            raise TooLong

        before = signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        try:
            yield
        except TooLong:
            self._too_long += 1
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def steps(self, sample: Sample) -> Iterator[Step]:
        """Yield the forward step of a call in training, then those of its derivatives; each runs after it is yielded.

        This raises `Refused` if the kernel refuses the call.
        """
        forward = forward_step(self.module, sample)
        with self.limited():
            run_plain(forward)
        yield forward
        run_compiled(forward)
        for step in derivative_steps(self.module, forward):
            yield step
            run_compiled(step)


class TooLong(BaseException):
    """A kernel takes too long; this is not an `Exception`, so that nothing mistakes it for one of the kernel's."""


def search(
    subject: Subject, judge: Judge, forms: Sequence[Form], kinds: Sequence[Kind], *, examples: int | None = None
) -> int:
    """Try calls of `forms` with numbers of `kinds`; return how many were tried, without those that the kernel refused.

    A kernel refuses a call by raising an exception itself. Hypothesis draws `examples` calls, by default
    ``subject.examples``, in addition to one of each form and kind. If an error is found, this raises `Wrong`, whose
    `sample` is the smallest call that shows it.
    """
    trial = _Trial(judge)
    count = subject.examples if examples is None else examples
    if subject.given is not None:
        for given in subject.given:
            trial(given, may_refuse=False)
        trial.conclude()
        if not trial.tried:
            raise Skipped(f"no call could be tried: {trial.refusal}")
        return trial.tried
    for seed, (form, kind) in enumerate((form, kind) for form in forms for kind in kinds):
        if kind is Kind.OWN or subject.is_patient():
            trial(draw_sample(form, [kind], seed))
        if trial.wrong is not None:
            break
    else:
        if forms and count and subject.is_patient():
            _draw(subject, trial, forms, kinds, count)
    trial.shrink(subject)
    trial.conclude()
    if not trial.tried and forms:
        raise Wrong(
            f"the kernel accepts none of the generated inputs ({trial.refusal}): add a function sample_inputs to the "
            "op's API file, which returns inputs that the kernel accepts"
        )
    return trial.tried


def search_long(subject: Subject, judge: Judge, kinds: Sequence[Kind]) -> int:
    """Try one call of each longer form and kind, and return how many were tried. Parameters are those of `search`."""
    trial = _Trial(judge)
    for form in subject.long if subject.is_patient() else ():
        for kind in kinds:
            trial(draw_sample(form, [kind], 0))
    trial.shrink(subject)
    trial.conclude()
    return trial.tried


class _Found(Wrong):
    """An error with the call that shows it."""

    sample: Sample


class _Trial:
    """Tries calls, and keeps the smallest that shows an error."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.tried = 0
        self.wrong: _Found | None = None
        self.refusal = "none was drawn"

    def __call__(self, sample: Sample, *, may_refuse: bool = True) -> bool:
        """Return whether the call shows an error."""
        message = self._message(sample, may_refuse=may_refuse)
        if message and (self.wrong is None or measure(sample) < measure(self.wrong.sample)):
            self.wrong = _Found(message, sample)
        return bool(message)

    def _message(self, sample: Sample, *, may_refuse: bool = True) -> str | None:
        """Return what is wrong with a call, or None."""
        try:
            # A kernel may write to its inputs.
            self._judge(copy.deepcopy(sample))
        except TooLong:
            self.refusal = f"it takes more than {LIMIT:g} s"
            return None
        except (Wrong, Refused, PykernelsError) as error:
            message = str(error)
            if may_refuse and isinstance(error, Refused):
                self.refusal = message
                return None
            return message
        self.tried += 1
        return None

    def shrink(self, subject: Subject) -> None:
        """Look for a smaller call that shows the same error, if one was found."""
        if self.wrong is None or subject.given is not None:
            return
        op, error, end = subject.module.forward, _NUMBERS.sub("", str(self.wrong)), time.monotonic() + _BUDGET

        def shows(sample: Sample) -> bool:
            try:
                op.infer(specs_of(sample.inputs), sample.attributes)
            except PykernelsError:
                return False
            message = self._message(sample) if time.monotonic() < end else None
            if message is None or _NUMBERS.sub("", message) != error:
                return False
            self.wrong = _Found(message, sample)
            return True

        form = subject.forms[0]
        # An op with samples may take only such numbers.
        ranges = [None if values is None or not values.size else (values.min(), values.max()) for values in form.values]
        shrink(self.wrong.sample, form.attributes, ranges, shows)

    def conclude(self) -> None:
        if self.wrong is not None:
            raise self.wrong


def _draw(subject: Subject, trial: _Trial, forms: Sequence[Form], kinds: Sequence[Kind], examples: int) -> None:
    """Let hypothesis draw calls until one shows an error."""
    from hypothesis import HealthCheck, Phase, Verbosity, errors, given, settings

    end = time.monotonic() + _BUDGET

    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
        deadline=None,
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(sample_strategy(forms, kinds))
    def attempt(sample: Sample) -> None:
        if time.monotonic() < end and subject.is_patient():
            assert not trial(sample)

    # Hypothesis reports a call that fails only sometimes as flaky; `trial` already has it.
    with contextlib.suppress(AssertionError, errors.Flaky):
        attempt()
