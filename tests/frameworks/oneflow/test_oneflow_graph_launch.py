"""Graphs that end before OneFlow has noted that they run."""

from __future__ import annotations

from pathlib import Path

import oneflow as flow
import pytest
from process import program

from pykernels.build import toolchain

#: OneFlow calls this function to start a graph. It returns late, as it does now and then if all cores are busy.
LATE = """
#include <dlfcn.h>
#include <unistd.h>

#define PUSH                                                                         \\
  "_ZN7oneflow6BufferISt10shared_ptrINS_11JobInstanceEEE4PushIRKS1_INS_15LazyJobIns" \\
  "tanceEEEENS_12BufferStatusEOT_"

extern "C" {
const char* liboneflow = nullptr;
int starts = 0;

int Push(void* buffer, const void* job) __asm__(PUSH);
int Push(void* buffer, const void* job) {
  static const auto push = reinterpret_cast<int (*)(void*, const void*)>(dlsym(dlopen(liboneflow, RTLD_LAZY), PUSH));
  __atomic_fetch_add(&starts, 1, __ATOMIC_RELAXED);
  const int status = push(buffer, job);
  usleep(1000);
  return status;
}
}
"""
BEGIN = """
import ctypes
import warnings

late = ctypes.CDLL({late!r}, ctypes.RTLD_GLOBAL)
liboneflow = ctypes.c_char_p.in_dll(late, "liboneflow")
liboneflow.value = {liboneflow!r}
warnings.simplefilter("ignore")
import oneflow as flow
"""
#: Beside any call of an op, OneFlow's own graphs.
GRAPHS = """
import pykernels
import pykernels.base.paths

pykernels.load_ops(pykernels.base.paths.OPS / "relu")
pykernels.list_ops()["relu"].api.relu(flow.ones(2))


def make_graph(number):
    class Graph(flow.nn.Graph):
        def build(self, x):
            return x + number

    return Graph()


graphs = [make_graph(number) for number in range(3)]
results = [graphs[i // 5 % 3](flow.ones(1)) for i in range(120)]
assert [float(result) for result in results] == [1.0 + i // 5 % 3 for i in range(120)]
"""
#: The first job trains, so that it still runs when its result is there.
JOBS = """
import numpy as np
import pykernels.vendors.oneflow_legacy
import oneflow.typing as tp


@flow.global_function(type="train")
def train(x: tp.Numpy.Placeholder((1,))) -> tp.Numpy:
    loss = x * flow.get_variable("w", (1,), initializer=flow.zeros_initializer())
    flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [1.0]), momentum=0).minimize(loss)
    return loss


@flow.global_function()
def predict(x: tp.Numpy.Placeholder((1,))) -> tp.Numpy:
    return x * flow.get_variable("w", (1,), initializer=flow.zeros_initializer())


x = np.ones(1, np.float32)
for i in range(40):
    assert train(x) == -i and predict(x) == -i - 1
"""


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("late") / "late.cpp"
    source.write_text(LATE)
    return toolchain.build_shared("late", [source], flags=["-fvisibility=default"], libraries=["-ldl"])


@pytest.mark.thorough
@pytest.mark.parametrize("text", [GRAPHS, JOBS], ids=["graphs", "jobs"])
def test_runs_that_end_early(tmp_path: Path, late: Path, text: str) -> None:
    (liboneflow,) = (Path(flow.__file__).parent.parent / "oneflow.libs").glob("liboneflow-*.so")
    begin = BEGIN.format(late=str(late), liboneflow=bytes(liboneflow))
    shown = "\nprint(ctypes.c_int.in_dll(late, 'starts').value)\n"
    done = program(begin + text + shown, cwd=tmp_path)
    # A graph is started by two calls.
    assert int(done.stdout) >= 160
