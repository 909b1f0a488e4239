/* The C boundary, linked into definitions that are compiled with PYKERNELS_BOUNDARY_APART. */
#include "oneflow/core/framework/framework.h"
