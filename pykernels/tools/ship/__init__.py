"""Build libraries that run ops without Python, for ONNX Runtime and for C programs, and wheels of compiled ops."""
