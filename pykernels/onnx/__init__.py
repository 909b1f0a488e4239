"""Ops as nodes of ONNX models, run by ONNX Runtime as if they were its own."""

from __future__ import annotations

from pykernels.onnx.sessions import register, session_options

__all__ = ["register", "session_options"]
