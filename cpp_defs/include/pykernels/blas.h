// What compiled kernels call of BLAS and LAPACK, matrix products and the factors of matrices: with Fortran's calling
// convention and 32-bit integers.
#pragma once

extern "C" {

typedef void (*pk_gemm)(const char*, const char*, const int*, const int*, const int*, const void*, const void*,
                        const int*, const void*, const int*, const void*, void*, const int*);
typedef void (*pk_gemv)(const char*, const int*, const int*, const void*, const void*, const int*, const void*,
                        const int*, const void*, void*, const int*);
typedef void (*pk_syrk)(const char*, const char*, const int*, const int*, const void*, const void*, const int*,
                        const void*, void*, const int*);
typedef void (*pk_getrf)(const int*, const int*, void*, const int*, int*, int*);

struct pk_blas {
  pk_gemm sgemm, dgemm;
  pk_gemv sgemv, dgemv;
  float (*sdot)(const int*, const void*, const int*, const void*, const int*);
  double (*ddot)(const int*, const void*, const int*, const void*, const int*);
  pk_syrk ssyrk, dsyrk;
  pk_getrf dgetrf;
};

// A library that runs without Python links its own BLAS. Otherwise the loader of a kernel provides one.
extern const pk_blas pk_library_blas __attribute__((weak, visibility("hidden")));

}  // extern "C"
