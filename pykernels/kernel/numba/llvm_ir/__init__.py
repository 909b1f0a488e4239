"""Change the LLVM IR that numba emits for a kernel."""
