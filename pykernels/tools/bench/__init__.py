"""How fast kernels are, beside a memory copy, NumPy, and the frameworks' own ops."""
