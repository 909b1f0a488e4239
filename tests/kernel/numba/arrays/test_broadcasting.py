"""Operations on arrays of many axes in kernels that numba compiles: broadcast as in NumPy, and soon compiled."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run, signature_of
from process import HELPERS, program
from quick import thorough

from pykernels.build import linking
from pykernels.kernel.pipeline import compile_kernel

# Each line of `results` is whole-array: numba compiles it.
OPERATIONS = """
    def forward(args, outs):
        (a, b, c), (total, power, scaled) = args, outs
        total[...] = np.flip(a, 0) + b.T * c
        np.hypot(a.T, b, power)
        scaled[...] = c
        scaled += a
        scaled[..., ::-1] *= +b[:, ::-1]
"""


@pytest.mark.parametrize("rank", [3, 5, *thorough(2, 4)])
def test_every_axis_is_broadcast_in_every_layout(tmp_path: Path, rank: int) -> None:
    kernel = kernel_of(tmp_path, OPERATIONS)
    shape = (3,) * rank
    outputs = [np.empty(shape, np.float32) for _ in range(3)]
    for ones in itertools.product([False, True], repeat=rank):
        other = tuple(1 if is_one else 3 for is_one in ones)
        random = np.random.default_rng(0)
        inputs = [random.normal(size=each).astype(np.float32) for each in (other, shape, other[::-1])]
        built = build(kernel, inputs, outputs)
        assert built.facts.form == "whole-array"
        assert run(built, inputs, outputs) is None
        for found, expected in zip(outputs, plain(kernel, inputs, outputs)):
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 1, 3), (3, 2, 2), (2, 3, 0)], ids=str)
def test_shapes_that_do_not_fit_raise(tmp_path: Path, shape: tuple[int, ...]) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    return np.flip(args[0], 0) + args[1]\n")
    inputs = [np.ones((2, 3, 3), np.float32), np.ones(shape, np.float32)]
    outputs = [np.empty((2, 3, 3), np.float32)]
    told = run(build(kernel, inputs, outputs), inputs, outputs)
    assert (told is None) == (shape == (2, 1, 3))


def size_of(folder: Path, rank: int, outputs: int) -> int:
    """The bytes of a kernel whose outputs are computed alike."""
    results = ", ".join(f"np.cumsum(x, {at % rank}) * {at} + z" for at in range(outputs))
    kernel = kernel_of(folder / f"{rank}_{outputs}", f"def forward(args):\n    x, z = args\n    return ({results},)\n")
    arrays = [np.ones((2,) * rank, np.float32)] * (2 + outputs)
    signature = signature_of(arrays[:2], arrays[2:])
    names = [f"y{at}" for at in range(outputs)]
    path, facts, _ = compile_kernel(kernel, "op", signature, names, [a.shape for a in arrays], {}, linking.RELOCATABLE)
    assert facts.form == "whole-array"
    return path.stat().st_size


def test_code_does_not_multiply_with_axes_and_outputs(tmp_path: Path) -> None:
    one = size_of(tmp_path, 3, 1)
    assert size_of(tmp_path, 4, 1) < 2 * one
    assert size_of(tmp_path, 4, 7) < 4 * one


@pytest.mark.thorough
@pytest.mark.usefixtures("new_cache")
def test_many_outputs_of_many_axes_are_compiled_in_time(tmp_path: Path) -> None:
    # Some 10 s.
    program(
        f"""
        import sys
        from pathlib import Path
        sys.path += {[str(Path(__file__).parent), str(HELPERS)]}
        from test_broadcasting import size_of
        size_of(Path("."), 4, 7)
        """,
        cwd=tmp_path,
        limit=60,
    )
