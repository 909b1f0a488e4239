"""Write the tests of a new op."""

from __future__ import annotations

from pykernels.tools.new.api import example_value
from pykernels.tools.new.kernel import formula
from pykernels.tools.new.sketch import Sketch

_FILE = '''\
"""Tests of the op {name}, for pytest."""

from pathlib import Path

import numpy as np
import pytest

import pykernels
from pykernels.testing import opcheck

{name} = pykernels.load_ops({folder})["{name}"]


def test_values():
    rng = np.random.default_rng(0)
{arguments}
    {results} = {name}.api.{name}({call})
    np.testing.assert_allclose({outputs[0]}, {formula})
{others}

def test_definition_kernel_and_gradient_agree():
    pytest.importorskip("hypothesis", reason="it draws the inputs: pip install 'pykernels[check]'")
    # A few of the checks of `python -m pykernels check`, which takes longer.
    opcheck({name}, checks=["definition", "shapes", "compiled", "gradient"])
'''


def test_text(sketch: Sketch, folder: str) -> str:
    """Return the text of ``test_<op>.py``, in which `folder` is an expression for the op folder."""
    arguments = [f"{name} = rng.uniform(0.5, 2, (4, 3))" for name in sketch.inputs]
    arguments += [f"{each.name} = {example_value(each)!r}" for each in sketch.attributes]
    call = [*sketch.inputs, *(f"{each.name}={each.name}" for each in sketch.attributes)]
    return _FILE.format(
        name=sketch.name,
        folder=folder,
        arguments="\n".join(f"    {line}" for line in arguments),
        results=", ".join(sketch.outputs),
        outputs=sketch.outputs,
        call=", ".join(call),
        formula=formula(sketch),
        others="".join(
            f"    np.testing.assert_allclose({name}, {number} * {sketch.outputs[0]})\n"
            for number, name in enumerate(sketch.outputs[1:], 2)
        ),
    )
