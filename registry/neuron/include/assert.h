// Found before the system's header of this name. A failed assertion becomes an error of the call and does not end
// Python.
#include_next <assert.h>

// No include guard: NDEBUG may change between two inclusions.
#if defined(__cplusplus) && !defined(NDEBUG)
#include "torchneuron/place.h"

#undef assert
#define assert(...)                                                                 \
  ((__VA_ARGS__) ? (void)(0)                                                        \
                 : ::torchneuron::fail(::torchneuron::Place::here(__FILE__, __LINE__), \
                                       "assert(" #__VA_ARGS__ ") failed"))
#endif
