"""Compile loops and whole-array kernels with numba."""
