"""Fuse the straight-line code of kernels that numba compiles."""
