"""Bodies of kernels that people write every day compile, and give NumPy's values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bodies import ALL, Body

from pykernels.kernel.facts import ELEMENTWISE, FUSED, LOOPS, PYTHON

# One of each group.
_QUICK = {"einsum heads", "split and join", "merge heads", "top-k values", "segment sum", "sum where"}
_QUICK |= {"mask augmented", "logsumexp", "rotary embedding", "fft"}
_LOOP = "for _ in range(1):\n    pass"


@pytest.mark.parametrize(
    "body", [pytest.param(b, id=b.name, marks=[] if b.name in _QUICK else pytest.mark.thorough) for b in ALL]
)
@pytest.mark.filterwarnings("ignore:.*calls of Python:pykernels.PykernelsWarning")
def test_body(tmp_path: Path, body: Body) -> None:
    form = _check(tmp_path, body)
    if form in (ELEMENTWISE, FUSED):
        assert _check(tmp_path, body, _LOOP) == LOOPS  # numba compiles other forms alike


def _check(folder: Path, body: Body, before: str = "") -> str:
    """Compare a body, after another statement, with NumPy; return the form of its kernel."""
    call, made, wanted = body.call(folder, 2000, before)
    call.run()
    np.testing.assert_allclose(made, wanted, rtol=2e-5, atol=2e-5)
    facts = call.kernel.facts
    assert facts.form != PYTHON, facts.reason
    assert bool(facts.python_calls) == (body.group == "left to Python")
    return facts.form
