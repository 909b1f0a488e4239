// Shape inference of models, which here is the op's setup().
#pragma once

#include <onnx/defs/schema.h>
