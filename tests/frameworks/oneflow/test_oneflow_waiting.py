"""What waits for OneFlow where OneFlow waits for it, each in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from folders import write_op
from messages import frames
from process import program

KERNEL = """
    import helper

    def forward(args):
        helper.collect()
        return args[0] * 1

    def backward(args):
        return args[0] * 1
"""
PROGRAM = """
import gc, warnings
import oneflow as flow
import pykernels

warnings.simplefilter("ignore")
pykernels.load_ops(".")
collecting = pykernels.list_ops()["collecting"].api.collecting


class Graph(flow.nn.Graph):
    def build(self, x):
        return x + 1


def make_garbage():
    graph = Graph()
    assert graph(x).tolist() == [1, 1]
    graph.itself = graph


def is_there():
    return any(type(each) is Graph for each in gc.get_objects())


x = flow.zeros(2)
collecting(x).numpy()
gc.disable()
make_garbage()
assert is_there()
y = collecting(x)
print(y.tolist())
gc.collect()  # of the cycle, once it is let go
print("deleted:", not is_there())
"""


WHILE_COMPILING = """
class Collecting(flow.nn.Graph):
    def build(self, x):
        gc.collect()
        print("kept:", is_there())
        return x + 2


gc.disable()
make_garbage()
y = Collecting()(x)
print(y.tolist())
gc.collect()  # of the cycle, once it is let go
print("deleted:", not is_there())
"""


@pytest.mark.thorough
def test_a_graph_that_dies_while_another_is_compiled_is_deleted_later(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def collect():\n    pass\n")
    write_op(tmp_path, "collecting", KERNEL)
    done = program(PROGRAM.partition("gc.disable()")[0] + WHILE_COMPILING, cwd=tmp_path)
    assert done.stdout.splitlines() == ["kept: True", "[2.0, 2.0]", "deleted: True"]


def test_a_graph_that_dies_in_a_kernel_is_deleted_later(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import gc\n\ndef collect():\n    gc.collect()\n")
    write_op(tmp_path, "collecting", KERNEL)
    done = program(PROGRAM, cwd=tmp_path)
    assert done.stdout.splitlines() == ["[0.0, 0.0]", "deleted: True"]
    assert not frames(done.stderr)
