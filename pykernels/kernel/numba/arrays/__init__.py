"""Copy, index, select and reshape arrays in kernels that numba compiles."""
