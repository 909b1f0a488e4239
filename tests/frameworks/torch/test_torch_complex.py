"""Complex tensors: values and gradients of PyTorch's own operators, natively and through Python."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import complex_ops
import pytest
import torch
from torch.autograd import gradcheck
from torch.autograd.forward_ad import dual_level, make_dual, unpack_dual

import pykernels

THEIRS: dict[str, Callable[..., Any]] = {
    "times": lambda a, b: a * b,
    "size": torch.abs,
    "polar": lambda r, angle: r * torch.exp(1j * angle),
    "mixed": lambda x: x * x + 2j * x.conj() + x.real,
}
SPIN = """
#include "oneflow/core/framework/framework.h"
REGISTER_USER_OP("spin_forward").Input("x", "complex[...]").Input("angle", "floating[...]").Output("y", "complex[...]")
    .Backward("y, angle, dy -> dx, dangle").Tangent("y, angle, tx, tangle -> ty");
"""
SPIN_KERNEL = """
import numpy as np


def forward(args):
    x, angle = args
    return x * np.exp(1j * angle)


def backward(args):
    y, angle, dy = args
    return dy * np.exp(-1j * angle), np.imag(np.conj(y) * dy)


def tangent(args):
    y, angle, tx, tangle = args
    return tx * np.exp(1j * angle) + 1j * y * tangle
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = complex_ops.write_ops(tmp_path_factory.mktemp("complex"))
    (folder / "spin").mkdir()
    for ending, text in (
        ("cpp_def.cpp", SPIN),
        ("py_kernel.py", SPIN_KERNEL),
        ("py_api.py", complex_ops.API.format(name="spin", inputs='"x", "angle"')),
    ):
        (folder / "spin" / f"spin_{ending}").write_text(text)
    loaded = pykernels.load_ops(folder)
    yield folder
    pykernels.unload_ops(*loaded)


def tensors(name: str, dtype: str) -> list[Any]:
    return [torch.from_numpy(x).requires_grad_() for x in complex_ops.arguments(name, dtype, 3, 4)]


@pytest.mark.parametrize("name", THEIRS)
def test_values_and_gradients_are_those_of_pytorch(folder: Path, enter: Callable[[str], Any], name: str) -> None:
    ours, theirs = enter(name), THEIRS[name]
    for dtype in ("complex64", "complex128"):
        given = tensors(name, dtype)
        results = ours(*given), theirs(*given)
        torch.testing.assert_close(*results)
        seed = torch.randn_like(results[1])
        for one, other in zip(*(torch.autograd.grad(each, given, seed) for each in results)):
            torch.testing.assert_close(one, other)
    assert gradcheck(ours, given)
    # Conjugate and negative views are lazy, and parts have gaps.
    for view in (torch.Tensor.conj, torch.t, lambda x: -x.conj()[:, ::2], lambda x: x.conj().mH):
        turned = [view(x).detach() for x in given]
        torch.testing.assert_close(ours(*turned), theirs(*turned))
    compiled = torch.compile(ours, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*given), theirs(*given))


def test_lazily_negative_parts_and_tensors_without_data(folder: Path, enter: Callable[[str], Any]) -> None:
    times, x = enter("times"), torch.randn(3, dtype=torch.complex64)
    torch.testing.assert_close(times(x.conj().imag, x.real), -x.imag * x.real)
    assert enter("size")(x.to("meta")).dtype == torch.float32


def test_tangents(folder: Path, enter: Callable[[str], Any]) -> None:
    spin, x, angle = enter("spin"), torch.randn(4, dtype=torch.complex128), torch.randn(4, dtype=torch.float64)
    along = torch.randn_like(x), torch.randn_like(angle)
    with dual_level():
        y, theirs = (
            f(make_dual(x, along[0]), make_dual(angle, along[1]))
            for f in (spin, lambda x, angle: x * torch.exp(1j * angle))
        )
        torch.testing.assert_close(unpack_dual(y).tangent, unpack_dual(theirs).tangent)
    assert gradcheck(spin, (x.requires_grad_(), angle.requires_grad_()), check_forward_ad=True)


def test_what_is_refused(folder: Path, enter: Callable[[str], Any]) -> None:
    x = torch.randn(3, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="'x' has dtype complex64, and the definition does not name complex dtypes"):
        enter("unnamed")(x)
    with pytest.raises(RuntimeError, match="input 'b' has dtype float32, but infer_type wants complex64"):
        enter("times")(x, x.real)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says once that it hardly knows them
        half = x.to(torch.complex32)
    with pytest.raises(RuntimeError, match="'x' has dtype (ComplexHalf|complex32)"):
        enter("mixed")(half)
