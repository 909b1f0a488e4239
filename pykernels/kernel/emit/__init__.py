"""Emit the stages of a plan as LLVM vector code."""
