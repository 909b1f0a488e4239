"""Kernels are told apart by the values that are compiled in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pykernels
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


def test_what_is_written_alike_is_the_same() -> None:
    nan = Signature((), (), constants=(("by", (float("nan"),)),))
    assert nan == Signature((), (), constants=(("by", (float("nan"),)),))
    assert hash(nan) == hash(Signature((), (), constants=(("by", (float("nan"),)),)))
    assert nan != Signature((), (), constants=(("by", (0.0,)),))
