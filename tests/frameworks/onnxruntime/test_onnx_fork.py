"""Forks while another thread makes and runs sessions of ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import forking
import pytest

BUILDS = """
import onnx.parser
import onnxruntime
import pykernels.onnx


def call(op):
    graph = f"g (float[3] x) => (float[3] y) {{ y = pykernels.{op}(x) }}"
    text = f'<ir_version: 8, opset_import: ["" : 17, "pykernels" : 1]> {graph}'
    model = onnx.parser.parse_model(text).SerializeToString()
    options = pykernels.onnx.session_options(op)
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options)
    return session.run(None, {"x": np.ones(3, np.float32)})[0][0]
"""


@pytest.mark.parametrize("ops", [6, pytest.param(30, marks=pytest.mark.thorough)])
def test_forks_while_another_thread_builds(tmp_path: Path, ops: int) -> None:
    forking.check(tmp_path, BUILDS, ops)
