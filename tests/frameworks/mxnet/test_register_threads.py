"""Classes of ``pykernels.register`` share few of MXNet's threads, however many calls are made at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from process import program


@pytest.mark.parametrize("hybridized", [False, True])
def test_classes_take_few_threads(tmp_path: Path, hybridized: bool) -> None:
    """MXNet starts one for each operator that has begun and not ended."""
    program(
        f"""
        import os
        import warnings
        warnings.simplefilter("ignore")
        import pykernels.compat.mxnet
        import mxnet as mx
        import pykernels


        class Double(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], in_data[0] * 2)

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                self.assign(in_grad[0], req[0], out_grad[0] * 2)


        @pykernels.register("double")
        class DoubleProp(mx.operator.CustomOpProp):
            def create_operator(self, ctx, in_shapes, in_dtypes):
                return Double()


        class Net(mx.gluon.HybridBlock):
            def hybrid_forward(self, F, x):
                return F.Custom(x + 1, op_type="double") + 1


        net = Net()
        if {hybridized}:
            net.hybridize()
        before, x = len(os.listdir("/proc/self/task")), mx.nd.ones(4)
        x.attach_grad()
        for _ in range(600):
            with mx.autograd.record():
                y = net(x)
            y.backward()
        mx.nd.waitall()
        assert (x.grad.asnumpy() == 2).all()
        threads = len(os.listdir("/proc/self/task")) - before
        assert threads < 40, threads
        """,
        cwd=tmp_path,
    )


def test_classes_that_wait_for_who_calls_them(tmp_path: Path) -> None:
    """More of them than MXNet is to have on their way: the caller is held back, but not for ever."""
    program(
        """
        import threading
        import warnings
        warnings.simplefilter("ignore")
        import pykernels.compat.mxnet
        import mxnet as mx
        import pykernels

        gate = threading.Event()


        class Waiting(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                assert gate.wait(60)
                self.assign(out_data[0], req[0], in_data[0] * 2)


        @pykernels.register("waiting")
        class WaitingProp(mx.operator.CustomOpProp):
            def create_operator(self, ctx, in_shapes, in_dtypes):
                return Waiting()


        ys = [mx.nd.Custom(mx.nd.ones(2), op_type="waiting") for _ in range(10)]
        gate.set()
        assert all((y.asnumpy() == 2).all() for y in ys)
        """,
        cwd=tmp_path,
    )
