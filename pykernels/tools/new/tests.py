"""Write the tests of a new op."""

from __future__ import annotations

from pykernels.tools.new.api import drawn_text
from pykernels.tools.new.inference import example_value
from pykernels.tools.new.sketch import Sketch

_FILE = '''\
"""Tests of the op {name}, for pytest."""

from pathlib import Path

import numpy as np
import pytest

import pykernels
from pykernels.testing import opcheck

{name} = pykernels.load_ops({folder})["{name}"]


def test_float32_agrees_with_float64():
    rng = np.random.default_rng(0)
{arguments}
    expected = {call}
    found = {narrow}
{comparison}
    # Add results that you know, for inputs of your own.


def test_definition_kernel_and_gradient_agree():
    pytest.importorskip("hypothesis", reason="it draws the inputs: pip install 'pykernels[check]'")
    # A few of the checks of `python -m pykernels check`, which takes longer.
    opcheck({name}, checks={checks})
'''


def test_text(sketch: Sketch, folder: str) -> str:
    """Return the text of ``test_<op>.py``, in which `folder` is an expression for the op folder."""
    arguments = [f"{each.name} = {drawn_text(each, repr(shape))}" for each, shape in zip(sketch.inputs, sketch.shapes)]
    arguments += [f"{each.name} = {example_value(each)!r}" for each in sketch.attributes]
    keywords = [f"{each.name}={each.name}" for each in sketch.attributes]
    names = [each.name for each in sketch.inputs]
    narrow = [f"{each.name}.astype(np.float32)" if each.dtype == "floating" else each.name for each in sketch.inputs]
    function = f"{sketch.name}.api.{sketch.name}"
    comparison = ["np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)"]
    if len(sketch.outputs) > 1:
        comparison = [
            "for one, other in zip(found, expected):",
            "    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)",
        ]
    return _FILE.format(
        name=sketch.name,
        folder=folder,
        arguments="\n".join(f"    {line}" for line in arguments),
        call=f"{function}({', '.join([*names, *keywords])})",
        narrow=f"{function}({', '.join([*narrow, *keywords])})",
        comparison="\n".join(f"    {line}" for line in comparison),
        checks='["definition", "dtypes", "shapes", "compiled"' + (', "gradient"]' if sketch.gradient else "]"),
    )
