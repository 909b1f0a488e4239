"""Matrix products on OneFlow's threads, which are several already: each on one thread of the BLAS."""

from __future__ import annotations

from pathlib import Path

import pytest
from process import program

from pykernels.build import toolchain

#: A BLAS that notes how many threads it was to use.
BLAS = """
extern "C" {
int threads = 4;
int most_threads = 0;

int openblas_get_num_threads() { return threads; }
void openblas_set_num_threads(int n) { threads = n; }
void sgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc) {
  if (threads > most_threads) most_threads = threads;
  for (int i = 0; i < *m; ++i) {
    for (int j = 0; j < *n; ++j) {
      float sum = 0;
      for (int l = 0; l < *k; ++l) {
        sum += (*ta == 'n' ? a[i + l * *lda] : a[l + i * *lda]) * (*tb == 'n' ? b[l + j * *ldb] : b[j + l * *ldb]);
      }
      c[i + j * *ldc] = *alpha * sum + (*beta == 0 ? 0 : *beta * c[i + j * *ldc]);
    }
  }
}
void dgemm_() {}
void cgemm_() {}
void zgemm_() {}
void sgemv_() {}
void dgemv_() {}
void sdot_() {}
void ddot_() {}
void ssyrk_() {}
void dsyrk_() {}
void dgetrf_() {}
void dpotrf_() {}
}
"""
PROGRAM = """
import ctypes
import warnings

warnings.simplefilter("ignore")
import numpy as np
import oneflow as flow
import pykernels
from pykernels.kernel import blas

library = ctypes.CDLL({library!r})
threads, most_threads = (ctypes.c_int.in_dll(library, name) for name in ("threads", "most_threads"))
pykernels.load_ops(pykernels.base.paths.OPS / "dense")
dense = pykernels.list_ops()["dense"].api.dense
# Small products are computed without the BLAS.
x, w = np.ones((64, 80), np.float32), np.full((96, 80), 2, np.float32)
if {first!r} == "framework":
    flow_x = flow.tensor(x)
    dense(flow_x, flow.tensor(w)).numpy()
assert blas.prefer(library)
dense(x, w)
assert most_threads.value == threads.value == 4
most_threads.value = 0


class Graph(flow.nn.Graph):
    def build(self, x, w):
        return dense(x, w)


flow_x, flow_w = flow.tensor(x, requires_grad=True), flow.tensor(w)
y = dense(flow_x, flow_w)
y.sum().backward()
assert y.tolist() == Graph()(flow_x.detach(), flow_w).tolist() == [[160.0] * 96] * 64
assert flow_x.grad.tolist() == [[192.0] * 80] * 64
assert most_threads.value == 1 and threads.value == 4
"""


@pytest.mark.thorough
def test_each_product_is_computed_on_one_thread(tmp_path: Path) -> None:
    source = tmp_path / "blas.cpp"
    source.write_text(BLAS)
    library = toolchain.build_shared("counting_blas", [source], flags=["-fvisibility=default"])
    for first in ("library", "framework"):
        program(PROGRAM.format(library=str(library), first=first), cwd=tmp_path)
