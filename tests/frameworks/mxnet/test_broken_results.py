"""A result that failed fails at every read, until it is written anew; what does not depend on it goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import mxnet as mx
import numpy as np
import pytest
from folders import write_op
from process import program

import pykernels

KERNEL = """
    def forward(args):
        (x,) = args
        if x.max() > 5:
            raise ValueError("too large")
        return x * 2

    def backward(args):
        dy, x, y = args
        if dy.max() > 5:
            raise ValueError("too steep")
        return dy * 2
"""


class Double(mx.operator.CustomOp):
    """The same as the kernel, as users write it for ``mx.operator.register``."""

    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        if in_data[0].max().asscalar() > 5:
            raise ValueError("too large")
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req: list[str], out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        if out_grad[0].max().asscalar() > 5:
            raise ValueError("too steep")
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


class DoubleProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Double:
        return Double()


@pytest.fixture(scope="module", params=["folder", "class"])
def op_type(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Doubles numbers up to 5, and fails for others."""
    name = f"broken_{request.param}"
    if request.param == "class":
        pykernels.register(name)(DoubleProp)
        yield name
        return
    pykernels.load_ops(write_op(tmp_path_factory.mktemp("ops"), name, KERNEL))
    yield name
    pykernels.unload_ops(name)


GOOD, BAD = [1.0, 2.0], [1.0, 20.0]


def fails(read: Callable[[], Any], text: str = "ValueError: too large") -> None:
    """Check that reading fails, every time."""
    for _ in range(3):
        with pytest.raises(mx.MXNetError, match=text):
            read()


def test_every_kind_of_read(op_type: str, tmp_path: Path) -> None:
    y = mx.nd.Custom(mx.nd.array(BAD), op_type=op_type)
    fails(y.wait_to_read)
    fails(y.asnumpy)
    fails(y[0].asscalar)
    fails(lambda: repr(y))
    fails(lambda: mx.nd.save(str(tmp_path / "y"), y))
    fails(y.to_dlpack_for_read)
    fails(y.copy().asnumpy)
    fails(y.reshape((2, 1)).asnumpy)


def test_what_is_computed_from_it_before_and_after_the_first_read(op_type: str) -> None:
    y = mx.nd.Custom(mx.nd.array(BAD), op_type=op_type)
    before = y + 1
    last = before * 2
    fails(last.asnumpy)
    fails(before.asnumpy)
    fails(y.asnumpy)
    fails((y + 1).asnumpy)
    fails((last + 1).asnumpy)
    del y, before
    fails(last.asnumpy)


def test_waiting_for_everything_reports_it_once(op_type: str) -> None:
    y = mx.nd.Custom(mx.nd.array(BAD), op_type=op_type)
    with pytest.raises(mx.MXNetError, match="too large"):
        mx.nd.waitall()
    mx.nd.waitall()
    fails(y.asnumpy)
    mx.nd.waitall()


def test_writing_it_anew(op_type: str) -> None:
    y = mx.nd.Custom(mx.nd.array(BAD), op_type=op_type)
    z = y + 1
    fails(y.asnumpy)
    y[:] = 7
    np.testing.assert_array_equal(y.asnumpy(), [7, 7])
    fails(z.asnumpy)
    mx.nd.Custom(mx.nd.array(GOOD), op_type=op_type, out=z)
    np.testing.assert_array_equal(z.asnumpy(), [2, 4])
    z[:] = np.array([3.0, 4.0])
    np.testing.assert_array_equal((z + y).asnumpy(), [10, 11])


class Slow(mx.operator.CustomOp):
    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        time.sleep(0.3)
        self.assign(out_data[0], req[0], in_data[0])


@pykernels.register("broken_slow")
class SlowProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Slow:
        return Slow()


def test_a_change_in_place_before_anybody_reads(op_type: str) -> None:
    y = mx.nd.Custom(mx.nd.array(BAD), op_type=op_type)
    y += 1
    fails(y.asnumpy)


def test_a_change_in_place_that_waits_while_the_failure_is_reported(op_type: str) -> None:
    """It is one of those that went before, although it runs after."""
    y, old = mx.nd.Custom(mx.nd.array(BAD), op_type=op_type), mx.nd.ones(2)
    copy = y + 1
    slow = mx.nd.Custom(mx.nd.array(GOOD), op_type="broken_slow")
    y += slow
    old += y
    fails(copy.asnumpy)
    fails(y.asnumpy)
    np.testing.assert_array_equal(old.asnumpy(), [1, 1])


def test_several_operators_that_run_as_one(op_type: str) -> None:
    with mx.engine.bulk(10):
        x = mx.nd.array(BAD) * 1
        y = mx.nd.Custom(x, op_type=op_type)
        z = y + 1
    fails(z.asnumpy)
    fails(y.asnumpy)
    fails((z + 1).asnumpy)


def test_gradients(op_type: str) -> None:
    x = mx.nd.array(GOOD)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=op_type)
    y.backward(mx.nd.array(BAD))
    fails(x.grad.asnumpy, "ValueError: too steep")
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=op_type)
    y.backward(mx.nd.array(GOOD))
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 4])


@pytest.mark.parametrize("static", [False, True], ids=["hybridized", "static"])
def test_hybridized_blocks(op_type: str, static: bool) -> None:
    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.Custom(x + 0, op_type=op_type)

    block = Block()
    block.hybridize(static_alloc=static, static_shape=static)
    for _ in range(2):
        np.testing.assert_array_equal(block(mx.nd.array(GOOD)).asnumpy(), [2, 4])
        y = block(mx.nd.array(BAD))
        fails(y.asnumpy)
        fails((y + 1).asnumpy)


def test_symbols(op_type: str) -> None:
    graph = mx.sym.Custom(mx.sym.var("x") + 0, op_type=op_type)
    executor = graph.simple_bind(mx.cpu(), x=(2,))
    for _ in range(2):
        executor.forward(is_train=False, x=mx.nd.array(BAD))
        fails(executor.outputs[0].asnumpy)
        executor.forward(is_train=False, x=mx.nd.array(GOOD))
        np.testing.assert_array_equal(executor.outputs[0].asnumpy(), [2, 4])


def test_training_goes_on_after_a_step_that_failed(op_type: str) -> None:
    """What a failed step leaves out has its old value, and can be used once the failure is told."""
    # Whether the failure is told before or after the engine comes to the weights depends on threads.
    for _ in range(50):
        dense = mx.gluon.nn.Dense(1, use_bias=False, in_units=2)
        dense.initialize(mx.init.One())
        trainer = mx.gluon.Trainer(dense.collect_params(), "sgd", {"learning_rate": 0.5})
        loss = _step(dense, trainer, op_type, BAD)
        fails(loss.asnumpy)
        np.testing.assert_array_equal(dense.weight.data().asnumpy(), [[1, 1]])
        np.testing.assert_array_equal(_step(dense, trainer, op_type, GOOD).asnumpy(), [[6]])
        np.testing.assert_array_equal(dense.weight.data().asnumpy(), [[0, -1]])


def _step(dense: Any, trainer: Any, op_type: str, numbers: list[float]) -> Any:
    with mx.autograd.record():
        loss = dense(mx.nd.Custom(mx.nd.array([numbers]), op_type=op_type))
    loss.backward()
    trainer.step(1)
    return loss


def test_waiting_for_all_reports_a_result_that_is_gone(op_type: str) -> None:
    mx.nd.Custom(mx.nd.array(BAD), op_type=op_type)
    with pytest.raises(mx.MXNetError, match="too large"):
        mx.nd.waitall()
    mx.nd.waitall()


def test_several_threads_that_wait_for_one_result(op_type: str) -> None:
    told: list[str] = []

    def read(y: Any) -> None:
        try:
            y.wait_to_read()
        except mx.MXNetError as error:
            told.append(str(error))

    for _ in range(20):
        told.clear()
        y = mx.nd.Custom(mx.nd.array(BAD), op_type=op_type)
        threads = [threading.Thread(target=read, args=(y,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(told) == 8
        assert all("too large" in text for text in told)


@pytest.mark.thorough
def test_failures_leave_nothing_behind_and_reach_a_forked_child(tmp_path: Path) -> None:
    write_op(tmp_path, "double", KERNEL)
    done = program(
        """
        import os
        import resource

        import pykernels.compat.mxnet
        import mxnet as mx
        import pykernels

        pykernels.load_ops("double")
        bad = mx.nd.full((256, 256), 20)

        def fail(n):
            for _ in range(n):
                try:
                    (mx.nd.Custom(bad, op_type="double") + 1).wait_to_read()
                except mx.MXNetError:
                    pass
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

        grown = -fail(500) + fail(2000)
        assert grown < 16, f"{grown} MiB more"
        y = mx.nd.Custom(bad, op_type="double")
        try:
            y.wait_to_read()
        except mx.MXNetError:
            pass
        child = os.fork()
        if child == 0:
            try:
                y.asnumpy()
            except mx.MXNetError as error:
                os._exit(7 if "too large" in str(error) else 8)
            os._exit(9)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        cwd=tmp_path,
    )
    assert done.stdout.strip() == "7"


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("wait", ["nd.waitall()", "nd.ones(2).asnumpy()"])
def test_a_kernel_that_waits_for_mxnet(tmp_path: Path, wait: str) -> None:
    """It would wait for itself."""
    name = "waiting_" + ("all" if "all" in wait else "one")
    kernel = f"""
        import sys

        def forward(args):
            sys.modules["mxnet"].{wait}
            return args[0] * 2

        def backward(args):
            return args[0] * 2
    """
    pykernels.load_ops(write_op(tmp_path, name, kernel))
    try:
        y = mx.nd.Custom(mx.nd.ones(2), op_type=name)
        fails(y.asnumpy, rf"{name}_py_kernel.py:5.*a kernel waits for MXNet, which waits for the kernel")
    finally:
        pykernels.unload_ops(name)


class Waiting(mx.operator.CustomOp):
    """Waits for MXNet while a pass runs, in the way that its attribute names."""

    results: ClassVar[list[Any]] = []

    def __init__(self, in_forward: str, in_backward: str) -> None:
        super().__init__()
        self.in_forward, self.in_backward = in_forward, in_backward

    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        self.wait(self.in_forward)
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req: list[str], out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.wait(self.in_backward)
        self.assign(in_grad[0], req[0], out_grad[0] * 2)

    def wait(self, what: str) -> None:
        if what == "all":
            mx.nd.waitall()
        while what == "result" and not self.results:
            time.sleep(0.01)
        for result in self.results:
            result.wait_to_read()


@pykernels.register("waiting_class")
class WaitingProp(mx.operator.CustomOpProp):
    def __init__(self, in_forward: str = "", in_backward: str = "") -> None:
        super().__init__()
        self.waits = in_forward, in_backward

    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Waiting:
        return Waiting(*self.waits)


def test_a_class_that_waits_for_everything() -> None:
    for pass_ in ("in_forward", "in_backward"):
        x = mx.nd.ones(2)
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.Custom(x, op_type="waiting_class", **{pass_: "all"})
        y.backward()
        text = r"op 'waiting_class': .*test_broken_results\.py:\d+: .* waits for all of MXNet.*array\.wait_to_read"
        fails((y if pass_ == "in_forward" else x.grad).asnumpy, text)


def test_a_class_that_waits_for_its_own_result() -> None:
    y = mx.nd.Custom(mx.nd.ones(2), op_type="waiting_class", in_forward="result")
    Waiting.results.append(y)
    fails(y.asnumpy, "waits for its own result, which waits for the class: read what it has assigned to out_data")
    Waiting.results[:] = [mx.nd.Custom(mx.nd.ones(2), op_type="broken_slow")]
    y = mx.nd.Custom(mx.nd.ones(2), op_type="waiting_class", in_forward="result")
    np.testing.assert_array_equal(y.asnumpy(), [2, 2])
    Waiting.results.clear()
