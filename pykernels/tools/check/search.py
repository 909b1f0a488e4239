"""Calls of an op, tried until one is found that shows something wrong, and then made smaller."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from pykernels.base.errors import PykernelsError
from pykernels.frameworks.case import Case
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample
from pykernels.tools.check.arguments import Arguments
from pykernels.tools.check.execution import Refused
from pykernels.tools.check.findings import Skipped, Wrong
from pykernels.tools.check.forms import Form, form_of, forms_of
from pykernels.tools.check.host_process import HostProcess
from pykernels.tools.check.values import Kind, draw_sample, sample_strategy

__all__ = ["LIMIT", "Judge", "Subject", "Trial", "search", "search_long"]

#: Raises `Wrong`, or an error of ours, if a call shows something wrong; `Refused` if the kernel does not take it.
Judge = Callable[[Sample], None]

#: The seconds that plain NumPy may take for one call, and how many calls that take longer are put up with.
LIMIT, _TOO_LONG = 2.0, 3
# About how many elements longer calls have.
_LONG = (300, 2000)
# The seconds that may be spent on looking for calls.
_BUDGET = 20.0


@dataclass(frozen=True)
class Trial:
    """A call, and what frameworks are given of it."""

    sample: Sample
    case: Case

    @property
    def dtype(self) -> np.dtype:
        """That of the first floating-point array, or of the first."""
        found = [array.dtype for array in self.case.arrays]
        return next((dtype for dtype in found if dtype.kind in "fc"), found[0])


@dataclass
class Subject:
    """What is checked: an op, and the calls that it is checked on.

    Attributes
    ----------
    module : OpModule
    given : list of Sample or None
        The only calls to try; None for calls of all kinds that the definition accepts.
    arguments : Arguments
        What calls that are made up have.
    hosts : dict of str to HostProcess
        The processes of frameworks, by package, if that check is to be made.
    trials : list of Trial or None
        The calls that frameworks are trying; None before they do.
    examples : int
        How many calls hypothesis draws for each check, besides one of each form.
    """

    module: OpModule
    given: list[Sample] | None = None
    arguments: Arguments = field(default_factory=Arguments)
    hosts: Mapping[str, HostProcess] = field(default_factory=dict)
    trials: list[Trial] | None = None
    examples: int = 60
    _too_long: int = field(default=0, init=False)

    @cached_property
    def forms(self) -> list[Form]:
        """The forms of calls that the definition accepts; of those that are given, if some are."""
        if self.given is not None:
            return [form_of(self.module, each) for each in self.given]
        return forms_of(self.module, self.arguments)

    @cached_property
    def long(self) -> list[Form]:
        """Forms with more elements than hypothesis can draw, for which kernels may have code of their own.

        None where calls are given.
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
        """Whether an attribute has been made 0, which times infinity is NaN, although few want products with 0."""
        usual = self.forms[0].attributes
        return any(value == 0 and usual[name] != 0 for name, value in attributes.items() if type(value) is float)

    def is_patient(self) -> bool:
        """Whether made-up numbers are worth trying: not where the kernel takes too long for them."""
        return self._too_long < _TOO_LONG

    @contextlib.contextmanager
    def limited(self) -> Iterator[None]:
        """A block that is ended, and told by `TooLong`, after some seconds."""

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


class TooLong(BaseException):
    """A kernel takes too long. Not an `Exception`, so that nothing takes it for the kernel's own."""


def search(
    subject: Subject, judge: Judge, forms: Sequence[Form], kinds: Sequence[Kind], *, examples: int | None = None
) -> int:
    """Try calls of `forms` with numbers of `kinds`; how many were tried, not counting those that the kernel refused.

    A kernel refuses a call by an exception of its own.

    Parameters
    ----------
    examples : int, optional
        How many calls hypothesis draws, besides one of each form and kind; by default those of `subject`.

    Raises
    ------
    Wrong
        Something is wrong; with the smallest call found that shows it.
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
            smaller = [each for each in forms if each.size <= form.size]
            # From one kind of number to another hypothesis does not find.
            for each in kinds if count else ():
                _draw(subject, trial, smaller, [each], count)
            break
    else:
        if forms and count and subject.is_patient():
            _draw(subject, trial, forms, kinds, count)
    trial.conclude()
    if not trial.tried and forms:
        raise Wrong(
            f"the kernel takes none of the inputs that were made up ({trial.refusal}): let the API file of the op say "
            "which it takes (sample_inputs)"
        )
    return trial.tried


def search_long(subject: Subject, judge: Judge, kinds: Sequence[Kind]) -> int:
    """Try one call of each of the longer forms and kinds; how many were tried. Parameters are those of `search`."""
    trial = _Trial(judge)
    for form in subject.long if subject.is_patient() else ():
        for kind in kinds:
            trial(draw_sample(form, [kind], 0))
    trial.conclude()
    return trial.tried


class _Trial:
    """Tries calls, and keeps the smallest that shows something wrong."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.tried = 0
        self.wrong: Wrong | None = None
        self.refusal = "none was drawn"

    def __call__(self, sample: Sample, *, may_refuse: bool = True) -> bool:
        """Whether the call shows something wrong."""
        try:
            self._judge(sample)
        except TooLong:
            self.refusal = f"it takes more than {LIMIT:g} s"
            return False
        except Wrong as error:
            message = str(error)
        except Refused as error:
            if may_refuse:
                self.refusal = str(error)
                return False
            message = str(error)
        except PykernelsError as error:
            message = str(error)
        else:
            self.tried += 1
            return False
        if self.wrong is None or _measure(sample) < _measure(self.wrong.sample):
            self.wrong = Wrong(message, sample)
        return True

    def conclude(self) -> None:
        if self.wrong is not None:
            raise self.wrong


def _draw(subject: Subject, trial: _Trial, forms: Sequence[Form], kinds: Sequence[Kind], examples: int) -> None:
    """Let hypothesis look for smaller calls than `trial` has."""
    from hypothesis import HealthCheck, Phase, Verbosity, errors, given, settings

    end = time.monotonic() + _BUDGET

    @settings(
        max_examples=examples,
        phases=[Phase.generate, Phase.shrink],
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

    # That a call is wrong only now and then is hypothesis' own finding; it is in `trial` already.
    with contextlib.suppress(AssertionError, errors.Flaky):
        attempt()


def _measure(sample: Sample | None) -> tuple[int, int]:
    """Smaller for calls that are easier to read."""
    assert sample is not None
    arrays = list(chain(*sample.inputs))
    return sum(array.size for array in arrays), sum(len(str(array.tolist())) for array in arrays)
