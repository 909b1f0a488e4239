"""Findings of checks."""

from __future__ import annotations

from dataclasses import dataclass

from pykernels.load.samples import Sample

__all__ = ["FAILED", "PASSED", "SKIPPED", "Result", "Skipped", "Wrong", "describe"]

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Wrong(Exception):
    """Something is wrong with an op; `sample` is the smallest call found that shows it."""

    def __init__(self, message: str, sample: Sample | None = None) -> None:
        super().__init__(message)
        self.sample = sample


class Skipped(Exception):
    """There is nothing to check, for the reason given."""


@dataclass(frozen=True)
class Result:
    """The outcome of one check of one op.

    Attributes
    ----------
    op, check : str
    outcome : str
        `PASSED`, `FAILED` or `SKIPPED`.
    message : str
        What was tried, what is wrong, or why it was skipped.
    inputs : str
        The smallest call found that shows what is wrong, for reading; empty if there is none.
    script : str
        A program that shows it again; empty if nothing is wrong.
    seconds : float
        How long the check took.
    """

    op: str
    check: str
    outcome: str
    message: str
    inputs: str = ""
    script: str = ""
    seconds: float = 0.0


def describe(result: Result) -> str:
    """A failure, with the call that shows it and the program that does so again."""
    lines = [f"{result.op}, {result.check}: {result.message}"]
    if result.inputs:
        lines.append(f"with {result.inputs}")
    if result.script:
        lines.append(f"To see it again, run this:\n\n{result.script}")
    return "\n".join(lines)
