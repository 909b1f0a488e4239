"""MXNet 1.9.1 with the installed Python and NumPy, whichever these are."""

from __future__ import annotations

from pathlib import Path

import pytest
from process import program, python

pytest.importorskip("mxnet.ndarray", reason="MXNet is not installed")

USE = """
x = mx.nd.array([-1, 0, 2])
x.attach_grad()
with mx.autograd.record():
    y = mx.nd.Custom(x, op_type="sigmoid")
y.backward()
np.testing.assert_allclose(x.grad.asnumpy(), y.asnumpy() * (1 - y.asnumpy()), rtol=1e-6)
net = mx.gluon.nn.Dense(3)
net.initialize()
net.hybridize()
assert net(mx.nd.ones((2, 4))).shape == (2, 3)
"""


@pytest.mark.parametrize(
    "imports",
    [
        pytest.param("import pykernels.compat.mxnet\nimport mxnet as mx\npykernels.load_ops()", id="by its name"),
        pytest.param("import pykernels\npykernels.load_ops()\nimport mxnet as mx", id="with load_ops"),
    ],
)
def test_imports_and_runs(tmp_path: Path, imports: str) -> None:
    before = "import types\nimport numpy as np\nbefore = dict(vars(np))"
    after = """
added = {name: value for name, value in vars(np).items() if value is not before.get(name)}
assert [name for name, value in added.items() if not isinstance(value, types.ModuleType)] == [], "others see it"
"""
    done = python("-W", "error", "-c", f"{before}\n{imports}\n{USE}\n{after}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_after_an_import_that_has_failed(tmp_path: Path) -> None:
    program(
        f"""
import sys
import warnings
import numpy as np

warnings.simplefilter("ignore")
# Let it fail on an old NumPy as well.
had = vars(np).pop("PZERO", None)
try:
    import mxnet
except AttributeError as error:
    assert "PZERO" in str(error)
assert "mxnet" not in sys.modules and "mxnet.base" in sys.modules
if had is not None:
    np.PZERO = had
import pykernels.compat.mxnet
import mxnet as mx
pykernels.load_ops()
{USE}
""",
        cwd=tmp_path,
    )


def test_run(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        f"import mxnet as mx\nimport numpy as np\nimport pykernels\npykernels.load_ops(){USE}"
    )
    done = python("-m", "pykernels", "run", "script.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_numpy_has_renamed() -> None:
    import mxnet as mx
    import numpy as np
    from mxnet import recordio

    # Texts of attributes.
    assert mx.nd.reshape(mx.nd.zeros(6), shape=(np.int64(2), np.prod([3]))).shape == (2, 3)
    assert mx.sym.reshape(mx.sym.var("x"), shape=(np.int64(2), 3)).attr("shape") == "(2, 3)"
    # Operators of arrays of NumPy and MXNet.
    x = mx.np.ones(2)
    x.attach_grad()
    with mx.autograd.record():
        y = np.true_divide(x, 2)
        z = np.divide(x, 2)
    assert [type(each) for each in (y, z)] == [mx.np.ndarray] * 2
    # Methods of arrays.
    header, body = recordio.unpack(recordio.pack(recordio.IRHeader(0, [1.0, 2.0], 3, 0), b"body"))
    assert (header.label.tolist(), body) == ([1.0, 2.0], b"body")
