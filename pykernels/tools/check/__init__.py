"""Check whether an op is correct: one module for each check, and the code that runs them in separate processes.

A check is a function ``check(subject) -> str``. It returns a short description of what it has tried. It raises
`findings.Wrong` for an error in the op, and `findings.Skipped` if there is nothing to try.
"""

from __future__ import annotations

#: The module of each check in this package, by the name of the check, in the order of reports.
CHECKS = {
    "definition": "definition",
    "dtypes": "dtypes",
    "shapes": "shapes",
    "compiled": "compiled",
    "overflow": "overflow",
    "gradient": "gradient",
    "second-derivative": "second_derivative",
    "forward-mode": "forward_mode",
    "determinism": "determinism",
    "inputs-unwritten": "inputs_unwritten",
    "bounds": "bounds",
    "threads": "threads",
    "fork": "forks",
    "frameworks": "frameworks",
    "speed": "speed",
}
