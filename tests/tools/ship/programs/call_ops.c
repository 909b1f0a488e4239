/* Calls ops of a library for C: asks for the type of a result, computes it, and does things wrong. */
#include <stdio.h>
#include <stdlib.h>

#include "ops.h"

int main(void) {
  char error[1000];
  float x[6] = {-2, -1, 0, 1, 2, 3};
  pykernels_array in = {x, PYKERNELS_FLOAT32, 2, {2, 3}};
  pykernels_array out = {NULL, 0, 0, {0}};
  pykernels_leaky_relu_attributes attributes = pykernels_leaky_relu_defaults;
  attributes.alpha = 0.5;
  if (pykernels_leaky_relu(&in, &out, &attributes, error, sizeof error)) return printf("%s\n", error), 1;
  printf("type %d of %d axes: %ld %ld\n", out.dtype, out.ndim, (long)out.shape[0], (long)out.shape[1]);
  out.data = malloc(sizeof x);
  if (pykernels_leaky_relu(&in, &out, &attributes, error, sizeof error)) return printf("%s\n", error), 1;
  for (int i = 0; i < 6; ++i) printf("%g ", ((float*)out.data)[i]);
  printf("\n");
  if (pykernels_softmax(&in, &out, NULL, error, sizeof error)) return printf("%s\n", error), 1;
  printf("%.4f %.4f\n", ((float*)out.data)[0], ((float*)out.data)[2]);
  out.shape[1] = 2;
  printf("%d: %s\n", pykernels_softmax(&in, &out, NULL, error, sizeof error), error);
  printf("%d: %s\n", pykernels_box_clip(&in, &out, NULL, error, sizeof error), error);
  in.dtype = PYKERNELS_INT32;
  out.shape[1] = 3;
  printf("%d: %s\n", pykernels_leaky_relu(&in, &out, NULL, error, sizeof error), error);
  return pykernels_leaky_relu(&in, &out, NULL, NULL, 0) != 1;
}
