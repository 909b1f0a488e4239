"""Bodies of kernels that people write every day compile, and give NumPy's values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bodies import ALL, Body

# One of each group.
_QUICK = {"einsum heads", "split and join", "merge heads", "top-k values", "segment sum", "sum where"}
_QUICK |= {"mask augmented", "logsumexp", "rotary embedding", "fft"}
_LOOP = "for _ in range(1):\n    pass"


@pytest.mark.parametrize("before", ["", pytest.param(_LOOP, marks=pytest.mark.thorough, id="loop")])
@pytest.mark.parametrize(
    "body", [pytest.param(b, id=b.name, marks=[] if b.name in _QUICK else pytest.mark.thorough) for b in ALL]
)
@pytest.mark.filterwarnings("ignore:.*calls of Python:pykernels.PykernelsWarning")
def test_body(tmp_path: Path, body: Body, before: str) -> None:
    call, made, wanted = body.call(tmp_path, 2000, before)
    call.run()
    np.testing.assert_allclose(made, wanted, rtol=2e-5, atol=2e-5)
    facts = call.kernel.facts
    assert facts.form != "Python", facts.reason
    assert bool(facts.python_calls) == (body.group == "left to Python")
