"""The code that finds memory for temporary arrays."""

from __future__ import annotations

from pykernels.kernel.numba.llvm_ir import counting


def test_variables_of_threads_are_looked_up_in_functions_of_their_own() -> None:
    """Meanwhile LLVM keeps numbers in registers that the C library uses when a thread does so for the first time."""
    assert "pk_arena_of_thread" in counting.FUNCTIONS
    assert "thread_local" not in counting.FUNCTIONS
    assert "threadlocal" not in counting.FUNCTIONS
