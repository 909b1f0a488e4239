"""What users are told of kernels that numba cannot compile: their line, and the reason in one line."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest

from pykernels.kernel.numba import types
from pykernels.kernel.read.signature import Signature, TensorType
from pykernels.kernel.read.source import KernelSource

SIGNATURE = Signature(inputs=(TensorType(np.dtype("f4"), 1),), outputs=(TensorType(np.dtype("f4"), 1),))


def said_of(tmp_path: Path, text: str) -> str:
    path = tmp_path / "op_py_kernel.py"
    path.write_text(textwrap.dedent(text))
    with pytest.raises(types.NotNative) as raised:
        types.type_kernel(KernelSource(path).functions["forward"], SIGNATURE)
    return str(raised.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("x + 'a'", "there is no add(float32[:], 'a')"),
        ("x.foo", "Unknown attribute 'foo' of type float32[:]"),
        ("np.sum(x, axis='k')", "sum(float32[:], axis='k'): 'k' is no axis of 1"),
        ("np.linalg.lstsq(x, x, bogus=3)", "np.linalg.lstsq is not compiled, and raises TypeError in Python: "),
        ("np.save('file', x)", "Use of unsupported NumPy function 'numpy.save'"),
    ],
)
def test_the_line_and_the_reason(tmp_path: Path, expression: str, reason: str) -> None:
    said = said_of(tmp_path, f"import numpy as np\n\n\ndef forward(args):\n    (x,) = args\n    return {expression}\n")
    assert said.startswith(f"numba: op_py_kernel.py:6: {reason}")
    assert len(said.splitlines()) == 1
    assert "0x" not in said and "site-packages" not in said


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("with np.printoptions():\n        y = x\n    return y", "6: `with` is not compiled; leave it out"),
        ("y = x\n    del y\n    return x", "7: `del y` is not compiled; leave it out"),
        ("import math\n    return x", "6: an import in a function is not compiled; import at the top"),
        ("global y\n    y = 1\n    return x", "7: a global name is assigned; return the value instead"),
        ("y = 1 if x[0] > 0 else x\n    return x + y", "6: Cannot unify "),
        ("return sum(y for y in x)", "6: a generator expression is not compiled; write a list or a loop"),
        ("return np.vectorize(len)(x)", "6: np.vectorize is not compiled; write a loop"),
        ("return x.astype(object)", "6: arrays of objects are not compiled; use numbers"),
        ("return np.squeeze(np.sort(x))", "6: np.squeeze is not compiled, and the dtype or the number of axes of its "),
        (
            "try:\n        y = np.sort(x)\n    except ValueError:\n        y = x\n    return y",
            "8: compiled code cannot tell exceptions apart; write `except Exception`",
        ),
    ],
)
def test_the_cause_and_the_cure(tmp_path: Path, lines: str, reason: str) -> None:
    said = said_of(tmp_path, f"import numpy as np\n\n\ndef forward(args):\n    (x,) = args\n    {lines}\n")
    assert said.startswith(f"numba: op_py_kernel.py:{reason}")


def test_an_error_in_a_helper_is_reported_of_the_helper(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("def double(x):\n    y = 2 * x\n    return y.nothing\n")
    said = said_of(
        tmp_path,
        """
        from tools import double

        def inner(x):
            return double(x) + 1

        def forward(args):
            (x,) = args
            return inner(x)
        """,
    )
    assert said == "numba: tools.py:3: Unknown attribute 'nothing' of type float32[:]"
