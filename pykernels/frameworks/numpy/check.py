"""Check ops on NumPy arrays."""

from __future__ import annotations

from pykernels.frameworks.case import Case, Outcome, Way, call, strided


def ways(case: Case) -> dict[str, Way]:
    """Return the ways to call an op on arrays."""
    return {"strided arrays" if case.is_strided else "arrays": lambda: _run(case)}


def _run(case: Case) -> Outcome:
    arrays = {name: [strided(a) if case.is_strided else a.copy() for a in group] for name, group in case.inputs.items()}
    results = call(case, arrays)
    return Outcome(results, {}, is_train=False, states=[a for name in case.states for a in arrays[name]])
