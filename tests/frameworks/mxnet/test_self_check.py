"""The engine is trusted after it has computed what is known, and left otherwise."""

from __future__ import annotations

from pathlib import Path

import mxnet as mx
import pytest
from process import program

import pykernels
from pykernels.frameworks.mxnet import registrar


def test_right_numbers_pass() -> None:
    pykernels.load_ops()
    registrar.check_op(registrar.CHECKED_OP)


@pytest.mark.thorough
def test_wrong_numbers_are_found() -> None:
    pykernels.load_ops()
    with pytest.raises(AssertionError, match=r"twice \[1.5, -3.0\] is \[1.5, 0.0\], with the gradient"):
        registrar.check_op("relu")


@pytest.mark.thorough
@pytest.mark.skipif(mx.__version__ != "1.9.1", reason="the engine is entered for mxnet 1.9.1 only")
def test_an_engine_that_fails_is_left(tmp_path: Path) -> None:
    done = program(
        """
        import warnings

        import pykernels.compat.mxnet
        import mxnet as mx
        import pykernels
        from pykernels.frameworks.mxnet import registrar

        def fail(op_type):
            raise AssertionError("2 and 2 is 5")

        registrar.check_op = fail
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", pykernels.PykernelsWarning)
            pykernels.load_ops()
        assert "goes wrong there: 2 and 2 is 5. Ops run as MXNet's custom operators do" in str(told[-1].message)
        x = mx.nd.array([-1, 2])
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.Custom(x, op_type="relu")
        y.backward()
        print(y.asnumpy(), x.grad.asnumpy())
        """,
        cwd=tmp_path,
    )
    assert done.stdout.strip() == "[0. 2.] [0. 1.]"
