"""Forks with ops in flight, and kernels that would wait for OneFlow, each in a process of its own."""

from __future__ import annotations

from pathlib import Path

import forking
import pytest
from folders import write_op
from process import program
from raising_kernels import COMPILED_RAISES

SETUP = """
import os, threading
import numpy as np
import oneflow as flow
import pykernels
import pykernels.base.paths

pykernels.load_ops(pykernels.base.paths.OPS / "sigmoid")
sigmoid = pykernels.list_ops()["sigmoid"].api.sigmoid
x = flow.zeros(4)


class Graph(flow.nn.Graph):
    def build(self, x):
        return sigmoid(x)


def in_child(function):
    pid = os.fork()
    if pid == 0:
        try:
            print(function(), flush=True)
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
"""


SLOW = """
    import time

    def forward(args):
        time.sleep(0.5)
        open("done", "w").close()
        return args[0] * 1

    def backward(args):
        return args[0] * 1
"""


def run(text: str, cwd: Path) -> str:
    return program(SETUP + text, cwd=cwd).stdout


@pytest.mark.thorough
def test_forks_with_ops_in_flight(tmp_path: Path) -> None:
    done = run(
        """
for _ in range(100):
    for _ in range(20):
        y = sigmoid(x)
    in_child(lambda: sigmoid(x).tolist())
print(sigmoid(x).tolist())
""",
        tmp_path,
    )
    assert done.splitlines().count("[0.5, 0.5, 0.5, 0.5]") == 101


def test_processes_and_workers_of_a_data_loader(tmp_path: Path) -> None:
    """Both fork, with ops in flight; what the workers compute is right, and so are the results of before."""
    done = run(
        """
import multiprocessing


class Squares(flow.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return sigmoid(flow.zeros(2) + (i > 99)).numpy() + np.float32(i)


def compute(i):
    return sigmoid(flow.zeros(1)).item() + i


if __name__ == "__main__":
    pending = [sigmoid(x) for _ in range(200)]
    batches = list(flow.utils.data.DataLoader(Squares(), batch_size=4, num_workers=2))
    print([batch.numpy()[:, 0].tolist() for batch in batches])
    pending += [sigmoid(x) for _ in range(200)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(compute, range(4)))
    print(all(y.tolist() == [0.5] * 4 for y in pending), Graph()(x).tolist())
""",
        tmp_path,
    )
    assert done.splitlines() == [
        "[[0.5, 1.5, 2.5, 3.5], [4.5, 5.5, 6.5, 7.5]]",
        "[0.5, 1.5, 2.5, 3.5]",
        "True [0.5, 0.5, 0.5, 0.5]",
    ]


@pytest.mark.thorough
def test_synchronize_waits_for_oneflow(tmp_path: Path) -> None:
    write_op(tmp_path, "slow", SLOW)
    done = program(
        SETUP
        + f"""
import pykernels.base.fork, warnings
warnings.simplefilter("ignore")
pykernels.load_ops({str(tmp_path / "slow")!r})
pykernels.list_ops()["slow"].api.slow(x)
print(os.path.exists("done"))
pykernels.fork.synchronize()
print(os.path.exists("done"))
with pykernels.fork.synchronized():
    in_child(lambda: sigmoid(x).tolist())
""",
        cwd=tmp_path,
    )
    assert done.stdout.splitlines() == ["False", "True", "[0.5, 0.5, 0.5, 0.5]"]


@pytest.mark.thorough
def test_kernels_that_are_cut_over_threads(tmp_path: Path) -> None:
    """The threads are not there in a child."""
    done = run(
        """
large = np.random.default_rng(0).normal(size=1_000_003).astype("float32")
expected = sigmoid(large)


def is_right():
    return all(np.array_equal(sigmoid(flow.tensor(large)).numpy(), expected) for _ in range(20))


print(is_right())
in_child(is_right)
print(is_right())
""",
        tmp_path,
    )
    assert done.splitlines().count("True") == 3


def test_gradients_in_a_child(tmp_path: Path) -> None:
    done = run(
        """
def train():
    x = flow.zeros(2, requires_grad=True)
    sigmoid(x).sum().backward()
    return x.grad.tolist()

train()
in_child(train)
""",
        tmp_path,
    )
    assert "[0.25, 0.25]" in done


@pytest.mark.thorough
@pytest.mark.parametrize("graph", ["graph", "Graph()"], ids=["built in the parent", "built in the child"])
def test_a_graph_in_a_child_is_refused(tmp_path: Path, graph: str) -> None:
    done = run(
        f"graph = Graph()\nprint(graph(x).tolist())\nin_child(lambda: {graph}(x).tolist())\nprint(graph(x).tolist())",
        tmp_path,
    )
    assert done.count("[0.5, 0.5, 0.5, 0.5]") == 2
    assert "RefusedCall a graph cannot run in process" in done
    assert "'spawn'" in done


@pytest.mark.thorough
def test_a_failure_that_is_pending_at_a_fork_becomes_a_warning(tmp_path: Path) -> None:
    write_op(tmp_path, "failing", COMPILED_RAISES)
    done = program(
        SETUP
        + f"""
import warnings
pykernels.load_ops({str(tmp_path / "failing")!r})
pykernels.list_ops()["failing"].api.failing(x)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    in_child(lambda: sigmoid(x).tolist())
print([str(each.message) for each in told if "three is too many" in str(each.message)])
print(sigmoid(x).tolist())
""",
        cwd=tmp_path,
    )
    assert "failed before anyone waited for it: op 'failing_forward'" in done.stdout
    assert done.stdout.count("[0.5, 0.5, 0.5, 0.5]") == 2


KERNEL = """
    import os
    import helper

    def forward(args):
        (x,) = args
        {statement}
        return x * 1

    def backward(args):
        return args[0] * 1
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("os.fork()", "os.fork in a kernel"),
        ("helper.call[0]()", "op 'sigmoid_forward' is called in a kernel"),
        ("helper.call[1]()", "to_numpy in a kernel"),
        ("helper.call[2]()", "Sync in a kernel"),
    ],
    ids=["fork", "op", "read", "sync"],
)
def test_a_kernel_that_would_wait_for_itself_is_refused(tmp_path: Path, statement: str, told: str) -> None:
    (tmp_path / "helper.py").write_text("call = []\n")
    write_op(tmp_path, "waiting", KERNEL.format(statement=statement))
    done = program(
        SETUP
        + f"""
import helper, warnings
warnings.simplefilter("ignore")
helper.call += [lambda: sigmoid(x), lambda: x.numpy(), lambda: flow._oneflow_internal.eager.Sync()]
pykernels.load_ops({str(tmp_path / "waiting")!r})
y = pykernels.list_ops()["waiting"].api.waiting(x)
try:
    y.numpy()
except RuntimeError as error:
    print(error)
print(sigmoid(x).tolist())
""",
        cwd=tmp_path,
    )
    assert told in done.stdout
    assert "waiting_py_kernel.py:" in done.stdout
    assert "[0.5, 0.5, 0.5, 0.5]" in done.stdout


def test_a_failure_that_nobody_waits_for_is_reported_at_exit(tmp_path: Path) -> None:
    write_op(tmp_path, "failing", COMPILED_RAISES)
    done = program(
        SETUP + f"pykernels.load_ops({str(tmp_path / 'failing')!r})\npykernels.list_ops()['failing'].api.failing(x)",
        cwd=tmp_path,
    )
    assert "failed before anyone waited for it: op 'failing_forward'" in done.stderr
    assert "three is too many" in done.stderr


BUILDS = """
import oneflow as flow


def call(op):
    return getattr(pykernels.list_ops()[op].api, op)(flow.ones(3)).numpy()[0]
"""


@pytest.mark.parametrize("ops", [6, pytest.param(30, marks=pytest.mark.thorough)])
def test_forks_while_another_thread_builds(tmp_path: Path, ops: int) -> None:
    forking.check(tmp_path, BUILDS, ops)
