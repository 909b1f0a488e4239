/* The C boundary of definitions that are compiled with PYKERNELS_BOUNDARY_APART, which are linked with this. */
#include "oneflow/core/framework/framework.h"
