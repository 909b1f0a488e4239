"""Processes: forking while ops are pending, ops in children, and leaving with work undone or failed."""

from __future__ import annotations

from pathlib import Path

import forking
import process
import pytest
from folders import write_op
from raising_kernels import COMPILED_RAISES

PRELUDE = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
import os
import pykernels.compat.mxnet
import mxnet as mx
import numpy as np
import pykernels
"""


def test_forking_with_pending_ops(tmp_path: Path) -> None:
    process.program(
        PRELUDE
        + """
pykernels.load_ops()
x = mx.nd.ones((64, 64))
x.attach_grad()
for i in range(60):
    with mx.autograd.record():
        y = x
        for _ in range(20):
            y = mx.nd.Custom(mx.nd.Custom(y, op_type="relu"), op_type="sigmoid")
    y.backward()
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert np.isfinite(x.grad.asnumpy()).all()
""",
        cwd=tmp_path,
    )


@pytest.mark.thorough
def test_forking_with_pending_python_kernels(tmp_path: Path) -> None:
    """Those need the interpreter, which the forking thread holds."""
    kernel = """
        def forward(args):
            (x,) = args
            return x + {"one": 1}["one"]

        def backward(args):
            return args[0]
    """
    folder = write_op(tmp_path, "interpreted", kernel)
    process.program(
        PRELUDE
        + f"""
warnings.simplefilter("ignore", pykernels.PykernelsWarning)
pykernels.load_ops({str(folder)!r})
for i in range(40):
    y = mx.nd.zeros(8)
    for _ in range(20):
        y = mx.nd.Custom(y, op_type="interpreted")
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (y.asnumpy() == 20).all()
""",
        cwd=tmp_path,
    )


@pytest.mark.thorough
def test_children_compute(tmp_path: Path) -> None:
    process.program(
        PRELUDE
        + """
pykernels.load_ops()


class Data(mx.gluon.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, at):
        x = mx.nd.array([at - 16.0])
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.Custom(x, op_type="leaky_relu", alpha=0.5)
        y.backward()
        return np.array([y.asscalar(), x.grad.asscalar()], "float32")


mx.nd.Custom(mx.nd.ones(1), op_type="leaky_relu").wait_to_read()
loader = mx.gluon.data.DataLoader(Data(), batch_size=8, num_workers=2)
rows = np.concatenate([batch.asnumpy() for batch in loader])
x = np.arange(32) - 16.0
np.testing.assert_array_equal(rows[:, 0], np.where(x > 0, x, x / 2))
np.testing.assert_array_equal(rows[:, 1], np.where(x > 0, 1, 0.5))
""",
        cwd=tmp_path,
    )


@pytest.mark.thorough
def test_a_pending_failure_is_reported_at_a_fork(tmp_path: Path) -> None:
    folder = write_op(tmp_path, "failing", COMPILED_RAISES)
    done = process.program(
        PRELUDE
        + f"""
pykernels.load_ops({str(folder)!r})
y = mx.nd.Custom(mx.nd.ones(3), op_type="failing")
with warnings.catch_warnings(record=True) as caught:
    # Python warns of forks beside threads, too.
    warnings.simplefilter("always", pykernels.PykernelsWarning)
    child = os.fork()
    if child == 0:
        os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert [w.category for w in caught] == [pykernels.PykernelsWarning], caught
assert "ValueError: three is too many" in str(caught[0].message), caught[0].message
try:
    y.asnumpy()
except mx.MXNetError as error:
    print(error)
""",
        cwd=tmp_path,
    )
    assert "ValueError: three is too many" in done.stdout, "who reads the result is told, too"


@pytest.mark.thorough
@pytest.mark.parametrize("engine", [True, False])
def test_leaving_with_python_kernels_pending(tmp_path: Path, engine: bool) -> None:
    kernel = """
        import time

        def forward(args):
            (x,) = args
            time.sleep(0.005)
            return x + 1

        def backward(args):
            return args[0]
    """
    folder = write_op(tmp_path, "sleeping", kernel)
    done = process.python(
        "-c",
        PRELUDE
        + f"""
from pykernels.frameworks.mxnet import registrar

warnings.simplefilter("ignore", pykernels.PykernelsWarning)


def refuse(registrar):
    raise pykernels.LoadError("not this time")


if not {engine}:
    registrar.Registrar.enter_engine = refuse
pykernels.load_ops({str(folder)!r})
y = mx.nd.zeros(8)
for _ in range(100):
    y = mx.nd.Custom(y, op_type="sleeping")
print("left")
""",
        cwd=tmp_path,
    )
    assert (done.stdout, done.returncode) == ("left\n", 0), done.stderr


@pytest.mark.thorough
def test_leaving_with_a_failure_that_nobody_has_seen(tmp_path: Path) -> None:
    folder = write_op(tmp_path, "failing", COMPILED_RAISES)
    done = process.python(
        "-c",
        PRELUDE
        + f"""
pykernels.load_ops({str(folder)!r})
for _ in range(20):
    mx.nd.Custom(mx.nd.ones(3), op_type="failing")
print("left")
""",
        cwd=tmp_path,
    )
    assert done.stdout == "left\n"
    assert done.returncode == 0, done.stderr


CLASS = """
class Slow(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], mx.nd.array(in_data[0].asnumpy() + 1))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])


@register("cls_plus_one")
class SlowProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Slow()


x = mx.nd.zeros(8)
x.attach_grad()
children = []
for i in range(FORKS):
    with mx.autograd.record():
        y = x
        for _ in range(4):
            y = mx.nd.Custom(y, op_type="cls_plus_one")
    y.backward()
    children.append(os.fork())
    if children[-1] == 0:
        os._exit(0)
    # A few may be ending still.
    assert len(children) < 4 or os.waitpid(children.pop(0), 0)[1] == 0
    assert (y.asnumpy() == 4).all() and (x.grad.asnumpy() == 1).all()
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
"""


@pytest.mark.thorough
def test_forking_with_pending_classes(tmp_path: Path) -> None:
    text = PRELUDE + "register = pykernels.register\n" + CLASS.replace("FORKS", "300")
    process.program(text, cwd=tmp_path)


@pytest.mark.thorough
def test_forking_with_pending_classes_of_mxnet(tmp_path: Path) -> None:
    """Those that are left to MXNet: it waits for threads that want the interpreter, which the fork holds."""
    text = PRELUDE + "pykernels.load_ops()\nregister = mx.operator.register\n" + CLASS.replace("FORKS", "200")
    process.program(text, cwd=tmp_path)


@pytest.mark.thorough
def test_classes_compute_in_children(tmp_path: Path) -> None:
    text = PRELUDE + "register = pykernels.register\n" + CLASS.replace("FORKS", "1")
    process.program(
        text
        + """
child = os.fork()
if child == 0:
    right = (mx.nd.Custom(mx.nd.ones(8), op_type="cls_plus_one").asnumpy() == 2).all()
    os._exit(0 if right else 1)
assert os.waitpid(child, 0)[1] == 0
assert (mx.nd.Custom(mx.nd.ones(8), op_type="cls_plus_one").asnumpy() == 2).all()
""",
        cwd=tmp_path,
    )


@pytest.mark.thorough
def test_frameworks_are_drained_before_the_threads_of_any_end(tmp_path: Path) -> None:
    """Whichever has been plugged in first: what one has pending may need another."""
    process.program(
        PRELUDE
        + """
from concurrent.futures import ThreadPoolExecutor

log = []


class Framework:
    def __init__(self, name):
        self.name, self.pool, self.pending = name, ThreadPoolExecutor(1), []
        pykernels.fork.before_fork(self.drain, self.stop)

    def start(self, value):
        work = lambda: mx.nd.Custom(mx.nd.full(1, value), op_type="plus_one").asscalar()
        self.pending.append(self.pool.submit(work))

    def drain(self):
        log.append(("drained", self.name, [future.result(60) for future in self.pending]))
        self.pending.clear()

    def stop(self):
        log.append(("stopped", self.name))


class PlusOne(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + 1)


class PlusOneProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return PlusOne()


first = Framework("first")
pykernels.register("plus_one")(PlusOneProp)
last = Framework("last")
for i in range(20):
    first.start(i)
    last.start(10 * i)
    y = mx.nd.Custom(mx.nd.zeros(1), op_type="plus_one")
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert y.asscalar() == 1
    drained = [("drained", "first", [i + 1]), ("drained", "last", [10 * i + 1])]
    assert log == [*drained, ("stopped", "first"), ("stopped", "last")], log
    log.clear()
pykernels.fork.synchronize()
assert log == [("drained", "first", []), ("drained", "last", [])], "nothing is stopped where nobody forks"
""",
        cwd=tmp_path,
    )


@pytest.mark.thorough
def test_a_drain_that_raises_keeps_no_other_from_being_called(tmp_path: Path) -> None:
    """As MXNet's does where warnings are errors; its threads have to end in any case."""
    folder = write_op(tmp_path, "failing", COMPILED_RAISES)
    done = process.program(
        PRELUDE
        + f"""
log = []
pykernels.load_ops({str(folder)!r})
pykernels.fork.before_fork(lambda: log.append("drained"), lambda: log.append("stopped"))
warnings.simplefilter("error", pykernels.PykernelsWarning)
y = mx.nd.Custom(mx.nd.ones(3), op_type="failing")
child = os.fork()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert log == ["drained", "stopped"], log
""",
        cwd=tmp_path,
    )
    assert "ValueError: three is too many" in done.stderr


BUILDS = """
import pykernels.compat.mxnet
import mxnet as mx


def call(op):
    if threading.current_thread() is threading.main_thread():
        return mx.nd.Custom(mx.nd.ones(3), op_type=op).asnumpy()[0]
    # What is called while MXNet stops for a fork may never run.
    return getattr(pykernels.list_ops()[op].api, op)(np.ones(3, np.float32))[0]
"""


@pytest.mark.parametrize("ops", [6, pytest.param(30, marks=pytest.mark.thorough)])
def test_forks_while_another_thread_builds(tmp_path: Path, ops: int) -> None:
    forking.check(tmp_path, BUILDS, ops)
