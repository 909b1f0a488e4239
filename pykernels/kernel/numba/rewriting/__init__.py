"""Rewrite the syntax of a kernel's functions before numba compiles them."""
