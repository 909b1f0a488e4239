"""Run ops as nodes of ONNX models in ONNX Runtime, like its built-in ops."""

from __future__ import annotations

from pykernels.frameworks.onnxruntime.inference import infer_shapes
from pykernels.frameworks.onnxruntime.loading import session
from pykernels.frameworks.onnxruntime.mxnet_export import export_mxnet
from pykernels.frameworks.onnxruntime.reference import reference_ops
from pykernels.frameworks.onnxruntime.sessions import register, session_options
from pykernels.frameworks.onnxruntime.torch_export import export_torch

__all__ = ["export_mxnet", "export_torch", "infer_shapes", "reference_ops", "register", "session", "session_options"]
