"""Kernels are told apart by the values that are compiled in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from folders import write_op

import pykernels
from pykernels.kernel import service
from pykernels.kernel.read.signature import Signature

DEFINITION = """
#include "oneflow/core/framework/framework.h"
REGISTER_USER_OP("shift_forward").Input("x").Output("y").Attr<std::vector<float>>("by")
    .SetTensorDescInferFn([](oneflow::user_op::InferContext* ctx) -> oneflow::Maybe<void> {
      ctx->SetOutputShape("y", 0, ctx->InputShape("x", 0));
      return oneflow::Maybe<void>::Ok();
    });
"""
KERNEL = "def forward(args, *, by):\n    (x,) = args\n    return x * by[0]\n"
API = """
import pykernels


def shift(x, by):
    return (
        pykernels.user_op_builder("shift").Op("shift_forward").Input("x", [x]).Output("y").Attr("by", by)
        .Build().InferAndTryRun().SoleOutputBlob()
    )
"""


@pytest.mark.thorough
def test_lists_of_numbers_keep_the_signs_of_zeros(tmp_path: Path) -> None:
    folder = tmp_path / "shift"
    folder.mkdir()
    for name, text in {"cpp_def.cpp": DEFINITION, "py_kernel.py": KERNEL, "py_api.py": API}.items():
        (folder / f"shift_{name}").write_text(text)
    shift = pykernels.load_ops(folder)["shift"].api.shift
    try:
        x = np.ones(2, np.float32)
        for by in (0.0, -0.0, 0.0, float("nan"), -0.0):
            result = shift(x, [by])
            np.testing.assert_array_equal(result, x * np.float32(by))
            assert np.isnan(by) or np.signbit(result).all() == np.signbit(by)
    finally:
        pykernels.unload_ops("shift")


def test_an_op_may_be_specialized_on_other_numbers_for_other_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = """
    def forward(args, *, along_axis, axis):
        (x,) = args
        if along_axis:
            return x - x.max(axis=axis, keepdims=True)
        return x - x.max()


    def backward(args):
        return args[0]
    """
    definition = """
    import pykernels


    class Prop(pykernels.CustomOpProp):
        def __init__(self, along_axis: bool = False, axis: int = 0):
            super().__init__(need_top_grad=True)
    """
    built = []
    build = service.build_kernel
    monkeypatch.setattr(service, "build_kernel", lambda *args: built.append(build(*args)) or built[-1])
    center = pykernels.load_ops(write_op(tmp_path, "center", kernel, definition))["center"].api.center
    try:
        x = np.arange(6.0).reshape(2, 3)
        for _ in range(3):
            np.testing.assert_array_equal(center(x, along_axis=False, axis=0), x - 5)
            np.testing.assert_array_equal(center(x, along_axis=True, axis=0), x - x.max(0))
            np.testing.assert_array_equal(center(x, along_axis=True, axis=1), x - x.max(1, keepdims=True))
    finally:
        pykernels.unload_ops("center")
    assert [each.signature.specialized for each in built] == [("along_axis",), *[("along_axis", "axis")] * 2]


def test_what_is_written_alike_is_the_same() -> None:
    nan = Signature((), (), constants=(("by", (float("nan"),)),))
    assert nan == Signature((), (), constants=(("by", (float("nan"),)),))
    assert hash(nan) == hash(Signature((), (), constants=(("by", (float("nan"),)),)))
    assert nan != Signature((), (), constants=(("by", (0.0,)),))
