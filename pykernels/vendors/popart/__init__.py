"""PopART's C++ interface on the CPU: our own headers and ``libpopart.so``, whose ops run in ONNX Runtime."""
