"""``x.reshape(...)`` in compiled kernels: as NumPy's, for every way to write it, and refused where NumPy refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

SHAPES = [
    *("(24,)", "24", "4, 6", "(4, 6)", "-1", "(-1,)"),
    *("3, -1", "-1, 2, 2", "2, -5, 4", "x.shape", "x.size", "2, n // 2"),
]


@pytest.mark.thorough
def test_shapes(tmp_path: Path) -> None:
    text = "def forward(args, outs):\n    (x,) = args\n    n = x.size\n"
    for at, shape in enumerate(SHAPES):
        text += f"    a{at}, b{at} = x.reshape({shape}), outs[{at}].reshape({shape})\n    b{at}[...] = a{at}\n"
        text += f"    b{at} += {at}\n"
    kernel = kernel_of(tmp_path, text)
    outputs = [np.zeros_like(X) for _ in SHAPES]
    built = build(kernel, [X], outputs)
    assert built.reason is None
    assert run(built, [X], outputs) is None
    for at, (shape, output) in enumerate(zip(SHAPES, outputs)):
        np.testing.assert_array_equal(output, X + at, shape)


def test_shapes_of_other_sizes_are_refused(tmp_path: Path) -> None:
    shapes = ["5, 5", "-1, -1", "-1, 5", "-1, 0", "n * 2", "1 << 32, 1 << 32, 24"]
    text = "def forward(args, outs, *, k):\n    (x,), (y,) = args, outs\n    n = x.size\n    y[:] = 0\n"
    text += "".join(f"    if k == {at}:\n        y[:] = x.reshape({shape}).size\n" for at, shape in enumerate(shapes))
    outputs = [np.zeros(1)]
    built = build(kernel_of(tmp_path, text), [X], outputs, {"k": 0})
    for at, shape in enumerate(shapes):
        said = run(built, [X], outputs, {"k": at})
        assert said is not None and "forward raised ValueError: " in said, shape
    assert built.reason is None and run(built, [X], outputs, {"k": len(shapes)}) is None


@pytest.mark.thorough
@pytest.mark.parametrize("shape", ["-1", "0, 7", "-1, 7", "0, 1 << 40"])
def test_empty_arrays(tmp_path: Path, shape: str) -> None:
    text = f"""
        def forward(args, outs):
            (x,), (y,) = args, outs
            z = x.reshape({shape})
            y[0], y[1] = z.shape[0], z.shape[z.ndim - 1]
        """
    kernel = kernel_of(tmp_path, text)
    outputs = [np.zeros(2)]
    built = build(kernel, [X[:0]], outputs)
    assert run(built, [X[:0]], outputs) is None
    np.testing.assert_array_equal(outputs[0], plain(kernel, [X[:0]], outputs)[0])


def test_arrays_that_are_not_contiguous(tmp_path: Path) -> None:
    text = """
        def forward(args):
            (x,) = args
            y = np.sort(x) * 2
            a, b = y[:, :, :2].reshape(2, 3, 2, 1), y.transpose(1, 0, 2).reshape((3, -1))
            a[0, 1] = 7
            b[0, 1] = 9
            return x.transpose(0, 2, 1).reshape(x.shape[0], -1), x.T.reshape(24), np.reshape(x[:, 1], [2, 2, 2]), y, b
        """
    kernel = kernel_of(tmp_path, text)
    wanted = kernel.function((X,))
    made = [np.zeros_like(each) for each in wanted]
    built = build(kernel, [X], made)
    assert built.reason is None
    assert run(built, [X], made) is None
    for each, other in zip(made, wanted):
        np.testing.assert_array_equal(each, other)
