"""Ops as nodes of ONNX models, run by ONNX Runtime."""
