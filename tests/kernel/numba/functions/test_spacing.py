"""Numbers at equal distances in kernels that numba compiles: their values and dtypes are NumPy's."""

from __future__ import annotations

from pathlib import Path

from compared import check, example

LINES = ["np.linspace(0, 1, 60, dtype=np.float32)", "np.linspace(-3, 4.5, x.shape[0], endpoint=False)"]
LINES += ["np.linspace(-3, 4, 9, dtype=np.int32)", "np.linspace(-1, 1, x.shape[1], dtype=x.dtype) * x"]
LINES += ["np.linspace(2.5, -1)", "np.linspace(1, 1, 3)", "np.linspace(0, 5e-324, 4)", "np.linspace(1, 2, 1)"]
LINES += ["np.linspace(1, 2, 0)", "np.linspace(1, 5, 4, False)"]


def test_linspace(tmp_path: Path) -> None:
    check(tmp_path, LINES, [example("f", (6, 5))])
