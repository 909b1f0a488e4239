"""The products and factors of matrices in libraries that need no BLAS, which Fortran's calling convention describes."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from pykernels.base.paths import CPP_DEFS, REGISTRY
from pykernels.build import toolchain
from pykernels.kernel import blas

RNG = np.random.default_rng(0)


def test_products_with_the_transpose_and_factors(tmp_path: Path) -> None:
    product_source, source = REGISTRY / "library" / "matrix_product.cpp", tmp_path / "table.cpp"
    table = 'extern "C" __attribute__((visibility("default"))) const pk_blas table = pk_library_blas;'
    source.write_text(f'#include "{product_source}"\n{table}\n')
    key, include = (product_source.read_text(),), (CPP_DEFS / "include",)
    library = toolchain.build_shared("table", [source], flags=("-O1",), include=include, key=key)
    addresses = (ctypes.c_void_p * len(blas._NAMES)).in_dll(ctypes.CDLL(str(library)), "table")
    functions = {
        name: ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(addresses[blas._NAMES.index(name)])
        for name, count in (("dsyrk", 10), ("dgetrf", 6), ("dpotrf", 5), ("zgemm", 13))
    }
    a, product = RNG.standard_normal((5, 3)), np.zeros((5, 5))
    one, zero, n, k = (
        ctypes.byref(each) for each in (ctypes.c_double(1), ctypes.c_double(0), ctypes.c_int64(5), ctypes.c_int64(3))
    )
    functions["dsyrk"](b"u", b"t", n, k, one, a.ctypes.data, k, zero, product.ctypes.data, n)
    np.testing.assert_allclose(np.tril(product), np.tril(a @ a.T))
    left, right = (RNG.standard_normal((2, 5)) + 1j * RNG.standard_normal((2, 5)) for _ in range(2))
    made, factors, two = np.zeros((2, 2), complex), np.array([3, 0], complex), ctypes.byref(ctypes.c_int64(2))
    whole, nothing, data = factors.ctypes.data, factors.ctypes.data + 16, (each.ctypes.data for each in (left, right))
    functions["zgemm"](b"c", b"n", two, two, n, whole, next(data), n, next(data), n, nothing, made.ctypes.data, two)
    np.testing.assert_allclose(made.T, 3 * left.conj() @ right.T)
    for matrix, singular in ((RNG.standard_normal((5, 5)), 0), (np.ones((5, 5)), 2)):
        factors, pivots, info = matrix.T.copy(), np.zeros(5, np.int64), ctypes.c_int64(-1)
        functions["dgetrf"](n, n, factors.ctypes.data, n, pivots.ctypes.data, ctypes.byref(info))
        rows = np.arange(5)
        for at, pivot in enumerate(pivots - 1):
            rows[[at, pivot]] = rows[[pivot, at]]
        lower, upper = np.tril(factors.T, -1) + np.eye(5), np.triu(factors.T)
        np.testing.assert_allclose(lower @ upper, matrix[rows])
        assert info.value == singular and np.abs(lower).max() == 1
    for matrix, indefinite in ((a @ a.T + np.eye(5), 0), (np.diag([1.0, 2, 0, 4, 5]), 3)):
        factor, info = matrix.T.copy(), ctypes.c_int64(-1)
        functions["dpotrf"](b"U", n, factor.ctypes.data, n, ctypes.byref(info))
        assert info.value == indefinite
        if not indefinite:
            np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(matrix))
