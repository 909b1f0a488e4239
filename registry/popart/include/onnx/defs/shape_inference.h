// Shape inference of models; here the op's setup() does it.
#pragma once

#include <onnx/defs/schema.h>
