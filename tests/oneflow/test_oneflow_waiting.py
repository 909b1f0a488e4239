"""What waits for OneFlow where OneFlow waits for it, each in a process of its own."""

from __future__ import annotations

from pathlib import Path

from folders import write_op
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
import gc, warnings, weakref
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
    return weakref.ref(graph.config)


x = flow.zeros(2)
collecting(x).numpy()
gc.disable()
config = make_garbage()
assert config() is not None
y = collecting(x)
print(y.tolist())
print("deleted:", config() is None)
"""


def test_a_graph_that_dies_in_a_kernel_is_deleted_later(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import gc\n\ndef collect():\n    gc.collect()\n")
    write_op(tmp_path, "collecting", KERNEL)
    done = program(PROGRAM, cwd=tmp_path, timeout=100)
    assert done.stdout.splitlines() == ["[0.0, 0.0]", "deleted: True"]
    assert "Exception ignored" not in done.stderr
