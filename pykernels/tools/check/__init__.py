"""Whether an op is right: a module for each check, and what runs them in a process of their own.

A check is a function ``check(subject) -> str``. It returns what it has tried, in a few words, and raises
`findings.Wrong` for what it found and `findings.Skipped` where it has nothing to try.
"""

from __future__ import annotations

__all__ = ["CHECKS"]

#: The modules of this package that check something, by the name of the check, in the order of the report.
CHECKS = {
    "definition": "definition",
    "shapes": "shapes",
    "compiled": "compiled",
    "overflow": "overflow",
    "gradient": "gradient",
    "second-derivative": "second_derivative",
    "determinism": "determinism",
    "inputs-unwritten": "inputs_unwritten",
    "bounds": "bounds",
    "threads": "threads",
    "fork": "forks",
    "frameworks": "frameworks",
    "speed": "speed",
}
