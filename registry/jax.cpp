// The registrar for JAX, one translation unit that is linked with host.cpp.
#include "jax/call.cpp"
#include "jax/handler.cpp"
#include "jax/registrar.cpp"
#include "jax/threads.cpp"
