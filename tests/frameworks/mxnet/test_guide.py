"""MXNet's page "Custom Numpy Operators": its code blocks as they are printed, with and without pykernels."""

from __future__ import annotations

import textwrap
from pathlib import Path

import process
import pytest
from codeblocks import blocks
from quick import thorough

GUIDE = process.CHECKOUT.parent / "shared" / "guides" / "mxnet_custom_numpy_operators.md"

REPLACED = """
import pykernels.compat.mxnet
import mxnet
import pykernels
mxnet.operator.register = pykernels.register
"""
ALONE = """
import pykernels
pykernels.load_ops()
"""

# A block that forks goes on in two processes: the child leaves, and the parent is not left waiting for it.
FORKED = """
import os as _os
_fork = _os.fork


def _counted():
    child = _fork()
    if child == 0:
        _os._exit(0)
    assert _os.waitpid(child, 0)[1] == 0
    _forks.append(child)
    return child


_forks = []
_os.fork = _counted
"""
CHECKS = """
values = np.array([0, 1, 2, 3], "float32")
np.testing.assert_allclose(sigmoid_values, 1 / (1 + np.exp(-values)), rtol=1e-6)
np.testing.assert_allclose(sigmoid_gradient, sigmoid_values * (1 - sigmoid_values), rtol=1e-6)
weight = dense.weight.data().asnumpy()
np.testing.assert_allclose(dense_values, dense_data.dot(weight.T) + 0.1, rtol=1e-5)
assert len(_forks) == 2
print("guide done")
"""


@pytest.mark.skipif(not GUIDE.exists(), reason=f"the guide is not at {GUIDE}")
@pytest.mark.parametrize("registered", ["mx.operator.register", *thorough("pykernels.register")])
def test_the_guide_runs_as_printed(tmp_path: Path, registered: str) -> None:
    texts = [block.text for block in blocks(GUIDE) if block.language == "python"]
    assert len(texts) == 11
    kept = {
        "print(x.grad)": "sigmoid_values, sigmoid_gradient = y.asnumpy(), x.grad.asnumpy()",
        "y = dense(x)": "dense_data, dense_values = x.asnumpy(), y.asnumpy()",
    }
    program = (REPLACED if registered == "pykernels.register" else ALONE) + FORKED
    for text in texts:
        program += f"\n{text}\n" + "".join(f"{line}\n" for mark, line in kept.items() if mark in text)
    program += CHECKS
    done = process.program(textwrap.dedent(program), cwd=tmp_path)
    assert done.stdout.endswith("guide done\n")
