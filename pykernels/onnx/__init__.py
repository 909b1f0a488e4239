"""Ops as nodes of ONNX models, run by ONNX Runtime as if they were its own."""

from __future__ import annotations

from pykernels.onnx.inference import infer_shapes
from pykernels.onnx.loading import session
from pykernels.onnx.mxnet_export import export_mxnet
from pykernels.onnx.reference import reference_ops
from pykernels.onnx.sessions import register, session_options
from pykernels.onnx.torch_export import export_torch

__all__ = ["export_mxnet", "export_torch", "infer_shapes", "reference_ops", "register", "session", "session_options"]
