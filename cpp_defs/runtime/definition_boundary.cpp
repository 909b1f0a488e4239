/* The C boundary, and the ops that tensor types complete, linked into every definition. */
#include "definition/boundary.h"
