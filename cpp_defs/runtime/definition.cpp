/* What all definitions share: the C boundary, and the bodies of the language's headers, which only declare. It is
 * compiled once and linked into every definition. */
#include "definition/boundary.h"
#include "definition/contexts.h"
#include "definition/data_type.h"
#include "definition/declared.h"
#include "definition/maybe.h"
#include "definition/message.h"
#include "definition/shape.h"
#include "definition/tensor_desc.h"
#include "definition/user_op_conf.h"
#include "definition/user_op_grad_registry.h"
#include "definition/user_op_registry.h"
