"""Time kernels, and for comparison a memory copy, NumPy, and the frameworks' own ops."""
