// What compiled kernels call of BLAS and LAPACK, matrix products and the factors of matrices: with Fortran's calling
// convention. Integers have 64 bits; a library whose integers have 32 reads the lower half, which comes first.
#pragma once

#include <cstdint>

extern "C" {

typedef std::int64_t pk_integer;
typedef void (*pk_gemm)(const char*, const char*, const pk_integer*, const pk_integer*, const pk_integer*, const void*,
                        const void*, const pk_integer*, const void*, const pk_integer*, const void*, void*,
                        const pk_integer*);
typedef void (*pk_gemv)(const char*, const pk_integer*, const pk_integer*, const void*, const void*, const pk_integer*,
                        const void*, const pk_integer*, const void*, void*, const pk_integer*);
typedef void (*pk_syrk)(const char*, const char*, const pk_integer*, const pk_integer*, const void*, const void*,
                        const pk_integer*, const void*, void*, const pk_integer*);
typedef void (*pk_getrf)(const pk_integer*, const pk_integer*, void*, const pk_integer*, void*, pk_integer*);
typedef void (*pk_potrf)(const char*, const pk_integer*, void*, const pk_integer*, pk_integer*);

struct pk_blas {
  pk_gemm sgemm, dgemm, cgemm, zgemm;
  pk_gemv sgemv, dgemv;
  float (*sdot)(const pk_integer*, const void*, const pk_integer*, const void*, const pk_integer*);
  double (*ddot)(const pk_integer*, const void*, const pk_integer*, const void*, const pk_integer*);
  pk_syrk ssyrk, dsyrk;
  pk_getrf dgetrf;
  pk_potrf dpotrf;
  pk_integer integer_bytes;  // of the library's integers: dgetrf writes several
};

// A library that runs without Python links its own BLAS. Otherwise the loader of a kernel provides one.
extern const pk_blas pk_library_blas __attribute__((weak, visibility("hidden")));

}  // extern "C"
