// The matrix products that compiled kernels call, with Fortran's calling convention and 32-bit integers.
#ifndef PYKERNELS_BLAS_H_
#define PYKERNELS_BLAS_H_

extern "C" {

typedef void (*pk_gemm)(const char*, const char*, const int*, const int*, const int*, const void*, const void*,
                        const int*, const void*, const int*, const void*, void*, const int*);
typedef void (*pk_gemv)(const char*, const int*, const int*, const void*, const void*, const int*, const void*,
                        const int*, const void*, void*, const int*);

struct pk_blas {
  pk_gemm sgemm, dgemm;
  pk_gemv sgemv, dgemv;
  float (*sdot)(const int*, const void*, const int*, const void*, const int*);
  double (*ddot)(const int*, const void*, const int*, const void*, const int*);
};

// Libraries that run without Python have their own; elsewhere there is none, and the loader of a kernel hands one over.
extern const pk_blas pk_library_blas __attribute__((weak, visibility("hidden")));

}  // extern "C"

#endif  // PYKERNELS_BLAS_H_
