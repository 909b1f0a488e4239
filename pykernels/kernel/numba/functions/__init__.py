"""NumPy functions that numba lacks, computes otherwise or computes slowly, written in what numba compiles."""

from pykernels.kernel.numba.functions import accumulating, convolution, extrema, indexing, moving, ordering, quantiles

__all__ = ["accumulating", "convolution", "extrema", "indexing", "moving", "ordering", "quantiles"]
