"""NumPy functions that numba lacks, computes otherwise or computes slowly, written in what numba compiles."""

from pykernels.kernel.numba.functions import (
    accumulating,
    contraction,
    convolution,
    einsum,
    extrema,
    indexing,
    moments,
    moving,
    norms,
    ordering,
    products,
    quantiles,
    reducing,
    searching,
    selecting,
    taking,
)

__all__ = [
    "accumulating",
    "contraction",
    "convolution",
    "einsum",
    "extrema",
    "indexing",
    "moments",
    "moving",
    "norms",
    "ordering",
    "products",
    "quantiles",
    "reducing",
    "searching",
    "selecting",
    "taking",
]
