// In front of the system's header of this name: an assertion that fails is an error of the call, not the end of Python.
#include_next <assert.h>

// No guard: whether NDEBUG is defined may change between two inclusions.
#if defined(__cplusplus) && !defined(NDEBUG)
#include "torchneuron/place.h"

#undef assert
#define assert(...)              \
  ((__VA_ARGS__) ? (void)(0)     \
                 : ::torchneuron::fail(::torchneuron::Place::here(__FILE__, __LINE__), "assert(" #__VA_ARGS__ ") failed"))
#endif
