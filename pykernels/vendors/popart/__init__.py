"""PopART's C++ on the CPU: headers and a ``libpopart.so`` of our own, whose ops run in ONNX Runtime."""
