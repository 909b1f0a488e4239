"""Forks in numbers, and those of other people's code: multiprocessing, Gluon's data loader, native libraries."""

from __future__ import annotations

from pathlib import Path

import process
import pytest
from test_fork import PRELUDE

CHAIN = """
pykernels.load_ops()
x = mx.nd.ones((8, 8))
x.attach_grad()

def chain():
    with mx.autograd.record():
        y = x
        for _ in range(10):
            y = mx.nd.Custom(mx.nd.Custom(y, op_type="relu"), op_type="sigmoid")
    y.backward()
    return y

expected = chain().asnumpy()
"""


@pytest.mark.thorough
def test_many_forks(tmp_path: Path) -> None:
    done = process.program(
        PRELUDE
        + CHAIN
        + """
children = []
for i in range(400):
    y = chain()
    children.append(os.fork())
    if children[-1] == 0:
        os._exit(0)
    # A few may be ending still.
    assert len(children) < 4 or os.waitpid(children.pop(0), 0)[1] == 0
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
assert (y.asnumpy() == expected).all()
print("all done")
""",
        cwd=tmp_path,
    )
    assert done.stdout.endswith("all done\n")


@pytest.mark.thorough
def test_multiprocessing(tmp_path: Path) -> None:
    process.program(
        PRELUDE
        + CHAIN
        + """
import multiprocessing

def work(value):
    with mx.autograd.pause():
        return float(mx.nd.Custom(mx.nd.array([value]), op_type="relu").asscalar())

for _ in range(5):
    chain()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(work, [-1.0, 2.0, 3.0]) == [0.0, 2.0, 3.0]
assert (chain().asnumpy() == expected).all()
""",
        cwd=tmp_path,
    )


def test_gluon_data_loader(tmp_path: Path) -> None:
    process.program(
        PRELUDE
        + CHAIN
        + """
from mxnet.gluon.data import ArrayDataset, DataLoader

data = ArrayDataset(mx.nd.arange(16).reshape((16, 1)) - 8, mx.nd.arange(16))
data = data.transform_first(lambda sample: mx.nd.Custom(sample, op_type="relu"))
for _ in range(3):
    chain()
    loader = DataLoader(data, batch_size=4, num_workers=2)
    batches = [samples.asnumpy().ravel() for samples, _ in loader]
    assert (np.concatenate(batches) == np.maximum(np.arange(16) - 8, 0)).all()
assert (chain().asnumpy() == expected).all()
""",
        cwd=tmp_path,
    )


@pytest.mark.thorough
def test_waiting_by_hand(tmp_path: Path) -> None:
    process.program(
        PRELUDE
        + CHAIN
        + """
import ctypes
libc = ctypes.PyDLL(None)  # forks without Python's hooks
for _ in range(20):
    y = chain()
    with pykernels.fork.synchronized():
        child = libc.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    pykernels.fork.synchronize()
assert (y.asnumpy() == expected).all()
""",
        cwd=tmp_path,
    )
