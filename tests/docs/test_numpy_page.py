"""The page on NumPy's functions is what the code says, and names every function."""

from __future__ import annotations

import importlib.util

import generated
import numpy as np
import pytest

IS_ITS_VERSION = np.__version__.startswith("1.23.") and importlib.util.find_spec("scipy") is not None


@pytest.mark.skipif(not IS_ITS_VERSION, reason="it is written with NumPy 1.23 and SciPy")
def test_the_page_is_what_the_code_says() -> None:
    import write_numpy

    path, text = generated.page(write_numpy.__file__, write_numpy.section())
    assert path.read_text() == text, "run: python docs/write_numpy.py"
    assert write_numpy.kind_of(np.exp) == "fused"
    assert write_numpy.kind_of(np.sort) == "compiled"
    assert write_numpy.kind_of(np.fft.fft) == "left to Python"
    assert write_numpy.kind_of(np.apply_along_axis) == "refused"
