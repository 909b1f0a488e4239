"""Libraries that run ops without Python: for ONNX Runtime, and for programs in C."""
